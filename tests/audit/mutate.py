"""Mutations of files that know their structure: tags of TIFF, headers and checksums of HDF5, words of netCDF 3, keys of
ENVI headers, pages of SQLite, trees of JSON. One to three changes each, so that most files stay readable.

    mutate(data, name, random) -> bytes"""
import json
import re
import struct

EDGES = [0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 64, 127, 128, 255, 256, 1000, 4096, 32767, 32768, 65535, 65536, 1 << 20,
         (1 << 24) - 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63,
         (1 << 64) - 2, (1 << 64) - 1]
TEXTS = ["", "0", "-1", "1", "2", "3", "7", "12", "24", "255", "65536", "2147483647", "2147483648", "4294967296",
         "9223372036854775807", "18446744073709551616", "1e308", "-1e308", "1e400", "1e-320", "nan", "inf", "-inf", "0x10",
         "1.5", "{", "}", "{}", "{{1}}", "{1,2", "bsq", "bil", "bip", "ENVI Standard", "ENVI Classification",
         "ENVI Spectral Library", "%s%n", "\x1b[31m", "\xff\xfe", "a" * 5000, "1," * 3000, "../../x", "/dev/zero"]


def number(random, width, old):
    """A value at an edge, or near the old one."""
    most = (1 << 8 * width) - 1
    return random.choice([random.choice(EDGES), random.choice(EDGES), old + 1, old - 1, old * 2, old // 2,
                          old ^ 1 << random.randrange(8 * width), random.getrandbits(8 * width)]) & most


def put(data, at, width, random, order="little"):
    """Changes the number of that width, where it lies within the data."""
    if 0 <= at and at + width <= len(data):
        value = number(random, width, int.from_bytes(data[at:at + width], order))
        data[at:at + width] = value.to_bytes(width, order)


def anywhere(data, random):
    """Some number, mostly in front; a cut; a piece that is moved, doubled or taken out."""
    if not data:
        return
    kind = random.randrange(8)
    first = int(len(data) * random.random() ** 3)
    size = random.choice((1, 2, 4, 8, 16, 64, 512))
    if kind < 4:
        width = random.choice((1, 2, 4, 8))
        put(data, first // width * width, width, random, random.choice(("little", "big")))
    elif kind == 4:
        del data[int(len(data) * random.random()):]
    elif kind == 5:
        del data[first:first + size]
    elif kind == 6:
        data[first:first] = data[first:first + size]
    else:
        source = random.randrange(len(data))
        piece = data[source:source + size]
        data[first:first + len(piece)] = piece


# ---- TIFF ----

def tiff(data, random):
    """An entry of a directory: tag, type, count, value or one of its values; or the place of the next directory."""
    order = "little" if data[:2] == b"II" else "big"
    big = data[2:4] in (b"+\0", b"\0+")
    wide, head, entry = (8, 8, 20) if big else (4, 2, 12)

    def get(at, width):
        return int.from_bytes(data[at:at + width], order)

    entries, ends, at, seen = [], [], get(8 if big else 4, wide), set()
    while 0 < at < len(data) and at not in seen and len(seen) < 20:
        seen.add(at)
        count = min(get(at, head), 200)
        entries += [at + head + entry * n for n in range(count)]
        ends.append(at + head + entry * count)
        at = get(ends[-1], wide)
    if not entries or random.random() < 0.05:
        return put(data, random.choice([0, 2, 4, 8, *ends]), 4, random, order)
    at = random.choice(entries)
    part = random.randrange(6)
    if part == 0:
        return put(data, at, 2, random, order)
    if part == 1:
        return put(data, at + 2, 2, random, order)
    if part == 2:
        return put(data, at + 4, wide, random, order)
    width = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 11: 4, 12: 8, 16: 8}.get(get(at + 2, 2), 1)
    count = get(at + 4, wide)
    if count * width <= wide or part == 3:
        return put(data, at + 4 + wide, min(width, wide) if part > 3 else wide, random, order)
    return put(data, get(at + 4 + wide, wide) + width * random.randrange(min(count, 1000)), width, random, order)


# ---- HDF5 ----

def lookup3(data):
    """Bob Jenkins' checksum, by which HDF5 protects its newer structures."""
    mask = 0xFFFFFFFF
    a = b = c = (0xDEADBEEF + len(data)) & mask
    words = struct.unpack(f"<{(len(data) + 11) // 12 * 3}I", bytes(data) + bytes(-len(data) % 12))
    if not words:
        return c

    def rotated(x, by):
        return (x << by | x >> 32 - by) & mask

    for i in range(0, len(words) - 3, 3):
        a, b, c = a + words[i] & mask, b + words[i + 1] & mask, c + words[i + 2] & mask
        a = (a - c & mask) ^ rotated(c, 4)
        c = c + b & mask
        b = (b - a & mask) ^ rotated(a, 6)
        a = a + c & mask
        c = (c - b & mask) ^ rotated(b, 8)
        b = b + a & mask
        a = (a - c & mask) ^ rotated(c, 16)
        c = c + b & mask
        b = (b - a & mask) ^ rotated(a, 19)
        a = a + c & mask
        c = (c - b & mask) ^ rotated(b, 4)
        b = b + a & mask
    a, b, c = a + words[-3] & mask, b + words[-2] & mask, c + words[-1] & mask
    c = (c ^ b) - rotated(b, 14) & mask
    a = (a ^ c) - rotated(c, 11) & mask
    b = (b ^ a) - rotated(a, 25) & mask
    c = (c ^ b) - rotated(b, 16) & mask
    a = (a ^ c) - rotated(c, 4) & mask
    b = (b ^ a) - rotated(a, 14) & mask
    return (c ^ b) - rotated(b, 24) & mask


SIGNED = re.compile(b"OHDR|OCHK|FRHP|FHDB|FHIB|BTHD|BTLF|BTIN|EAHD|EAIB|EASB|EADB|FAHD|FADB|SMTB|SMLI|FSHD|FSSE")
PLAIN = re.compile(b"TREE|HEAP|SNOD|GCOL")
structures = {}


def messages(data, at, end, order_field):
    """(type's place, start, size) of the messages of an object header of version 2."""
    found = []
    while at + 4 <= end:
        size = int.from_bytes(data[at + 1:at + 3], "little")
        start = at + 4 + order_field
        if start + size > end:
            break
        found.append((at, start, size))
        at = start + size
    return found


def old_messages(data):
    """The same of headers of version 1, which have no signature: what adds up is taken for one."""
    found = []
    for at in range(0, len(data) - 16, 8):
        version, zero, count, uses, size = struct.unpack_from("<BBHII", data, at)
        if version != 1 or zero or not 0 < count < 200 or not 0 < uses < 100 or not 8 <= size <= len(data) - at - 16:
            continue
        here, end, some = at + 16, at + 16 + size, []
        while here + 8 <= end and len(some) < count:
            kind, length = struct.unpack_from("<HH", data, here)
            if kind > 0x18 or length % 8 or here + 8 + length > end:
                break
            some.append((here, here + 8, length))
            here += 8 + length
        found += some
    return found


def hdf5_structures(data):
    """(start, end before the checksum or None, messages) of what a file holds."""
    key = (len(data), lookup3(data[:4096]))
    if key in structures:
        return structures[key]
    found = []
    if data[8] >= 2:
        found.append((0, 44, []))
    for match in SIGNED.finditer(data):
        at = match.start()
        if match.group() == b"OHDR":
            flags = data[at + 5]
            head = at + 6 + (16 if flags & 32 else 0) + (4 if flags & 16 else 0)
            width = 1 << (flags & 3)
            end = head + width + int.from_bytes(data[head:head + width], "little")
            found.append((at, end, messages(data, head + width, end, 2 if flags & 4 else 0)))
            continue
        for end in range(at + 8, min(at + 2048, len(data) - 4)):
            if data[end:end + 4] != b"\0\0\0\0" and lookup3(data[at:end]) == int.from_bytes(data[end:end + 4], "little"):
                found.append((at, end, messages(data, at + 4, end, 2) if match.group() == b"OCHK" else []))
                break
    found += [(match.start(), None, []) for match in PLAIN.finditer(data)]
    old = old_messages(data)
    if old:
        found += [(0, None, old)] * (1 + len(old) // 4)
    structures[key] = found
    return found


def hdf5(data, random):
    """A field of a message (dataspace, type, layout, filters, attribute) or of an index or a heap; the checksum fits."""
    start, end, inside = random.choice(hdf5_structures(bytes(data)) or [(0, None, [])])
    if inside:
        place, first, size = random.choice(inside)
        at = random.choice([place, place + 1] + [first + min(n, max(size - 1, 0)) for n in
                                                 (0, 1, 2, 3, 4, 6, 8, random.randrange(max(size, 1)))])
    else:
        at = start + random.choice((4, 5, 6, 8, random.randrange(4, 100)))
        if end is not None:
            at = min(at, end - 1)
    width = random.choice((1, 1, 2, 4, 8))
    put(data, at, min(width, end - at) if end is not None else width, random)
    if end is not None and random.random() < 0.95:
        data[end:end + 4] = lookup3(data[start:end]).to_bytes(4, "little")


# ---- SQLite ----

def sqlite(data, random):
    """A field of a page's header, the place of a cell, a size or a serial type in it, or a geometry."""
    blobs = [match.start() for match in re.finditer(b"GP\0[\x01\x00]", data)]
    if blobs and random.random() < 0.4:
        at = random.choice(blobs)
        envelope = (0, 32, 48, 48, 64, 0, 0, 0)[data[at + 3] >> 1 & 7]
        at += random.choice((2, 3, 4, 8, 8 + envelope, 9 + envelope, 13 + envelope, 17 + envelope, 18 + envelope, 22 + envelope,
                             8 + random.randrange(120)))
        return put(data, at, random.choice((1, 4, 8)), random)
    size = int.from_bytes(data[16:18], "big") or 65536
    page = random.randrange(max(len(data) // size, 1))
    start = page * size
    head = start + (100 if page == 0 else 0)
    kind = random.randrange(6)
    if kind == 0:
        return put(data, random.choice((16, 18, 20, 24, 28, 32, 36, 44, 56, 96)), random.choice((1, 2, 4)), random, "big")
    if kind == 1:
        return put(data, head + random.choice((0, 1, 3, 5, 7, 8)), random.choice((1, 2)), random, "big")
    cells = int.from_bytes(data[head + 3:head + 5], "big")
    pointer = head + (12 if data[head:head + 1] in (b"\x02", b"\x05") else 8) + 2 * random.randrange(max(min(cells, 200), 1))
    if kind == 2:
        return put(data, pointer, 2, random, "big")
    cell = start + int.from_bytes(data[pointer:pointer + 2], "big")
    return put(data, cell + random.randrange(12 if kind < 5 else 200), random.choice((1, 1, 2, 4)), random, "big")


# ---- texts ----

def header(text, random):
    """A key or a value of an ENVI header; lists lose, gain and swap elements."""
    keys = list(re.finditer(r"^([^=\n]+?) *= *(\{[^}]*\}|[^\n]*)", text, re.M))
    if not keys:
        return text
    chosen = random.choice(keys)
    key, value = chosen.groups()
    kind = random.randrange(8)
    if kind == 0:
        new = ""
    elif kind == 1:
        new = f"{chosen.group()}\n{key} = {random.choice(TEXTS)}"
    elif kind == 2:
        new = f"{random.choice(keys).group(1)} = {value}"
    elif value.startswith("{") and kind < 7:
        items = value[1:-1].split(",")
        at = random.randrange(len(items))
        way = random.randrange(4)
        if way == 0:
            del items[at]
        elif way == 1:
            items[at:at] = items[at:at + 1] * random.choice((1, 2, 1000))
        else:
            items[at] = random.choice(TEXTS)
        new = f"{key} = {{{','.join(items)}}}"
    else:
        new = f"{key} = {random.choice(TEXTS)}"
    return text[:chosen.start()] + new + text[chosen.end():]


class Raw(str):
    """Text that goes into JSON as it is."""


def changed(value, random):
    """One node of a tree is another one."""
    if isinstance(value, (dict, list)) and value and random.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = random.choice(keys)
        way = random.randrange(12)
        copy = dict(value) if isinstance(value, dict) else list(value)
        if way == 0:
            del copy[key]
        elif way == 1 and isinstance(copy, dict):
            copy[random.choice([*keys, "", "a" * 3000, "\u202e", key + "\0"])] = copy.pop(key)
        elif way == 2 and isinstance(copy, list):
            copy *= random.choice((2, 100))
        else:
            copy[key] = changed(value[key], random)
        return copy
    return random.choice([None, True, False, 0, -1, 1, 2, 1e308, -1e308, 1e-320, 2 ** 31, 2 ** 32, 2 ** 53 + 1, 2 ** 63, 2 ** 64,
                          float("nan"), float("inf"), 0.5, [], {}, "", [[]], [value], {"a": value}, [value, value], "a" * 5000,
                          "\x1b[31m", "\u202e", str(value), Raw("[" * 100000), Raw("[" * 500 + "]" * 500),
                          Raw('{"a":' * 900 + "1" + "}" * 900), Raw("1e999999"), Raw("-"), Raw("9" * 400)])


def json_tree(text, random):
    raw = []

    def mark(value):
        if isinstance(value, Raw):
            raw.append(str(value))
            return "\1raw"
        if isinstance(value, dict):
            return {k: mark(v) for k, v in value.items()}
        return [mark(v) for v in value] if isinstance(value, list) else value

    out = json.dumps(mark(changed(json.loads(text), random)))
    for each in raw:
        out = out.replace('"\\u0001raw"', each, 1)
    return out


def words(text, random):
    """A word of any other text."""
    found = list(re.finditer(r"[^\s,;:<>=\"]+", text))
    if not found:
        return text
    chosen = random.choice(found)
    return text[:chosen.start()] + random.choice([*TEXTS, chosen.group() * 2, "1" + chosen.group()]) + text[chosen.end():]


def of_text(function):
    def mutated(data, random):
        data[:] = function(data.decode("latin-1"), random).encode("latin-1", errors="replace")
    return mutated


def mutator(data, name):
    """What knows the structure of this file."""
    if data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return tiff
    if data[:8] == b"\x89HDF\r\n\x1a\n":
        return hdf5
    if data[:16] == b"SQLite format 3\0":
        return sqlite
    if data[:3] == b"CDF":
        # The words of the header are of four bytes; the smallest of the files is not much longer.
        return lambda data, random: put(data, 4 * int(min(len(data), 8192) / 4 * random.random() ** 2), 4, random, "big")
    if data[:4] == b"ENVI":
        return of_text(header)
    if name.endswith((".json", ".geojson")):
        return of_text(json_tree)
    if name.endswith((".xml", ".csv", ".ers", ".vrt", ".hcube")):
        return of_text(words)
    return anywhere


def mutate(data, name, random):
    data = bytearray(data)
    known = mutator(bytes(data[:64]), name)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        try:
            (known if random.random() < 0.9 else anywhere)(data, random)
        except (ValueError, IndexError, struct.error, RecursionError):
            anywhere(data, random)  # an earlier change has left nothing of the structure
    return bytes(data)
