# Writes a page as a C file that the program holds: cmake -DPAGE=page.html -DOUTPUT=page.c -P page.cmake
# The file also has the page's Content-Security-Policy: a browser runs the page's own script and no other.
file(READ ${PAGE} text)
file(READ ${PAGE} bytes HEX)

# The source of the element NAME as the policy names it, 'sha256-BASE64': OUT = 32 bytes as 43 characters and "=".
function(source_of NAME OUT)
  string(FIND "${text}" "<${NAME}>" first)
  string(FIND "${text}" "</${NAME}>" end)
  if(first EQUAL -1 OR end LESS first)
    message(FATAL_ERROR "${PAGE}: no element <${NAME}>")
  endif()
  string(LENGTH "<${NAME}>" tag)
  math(EXPR first "${first} + ${tag}")
  math(EXPR length "${end} - ${first}")
  string(SUBSTRING "${text}" ${first} ${length} content)
  string(SHA256 hash "${content}")
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(base64 "")
  foreach(at RANGE 0 63 3) # 3 hexadecimal digits = 12 bits = 2 characters; the last has 1 digit
    string(SUBSTRING "${hash}00" ${at} 3 three)
    math(EXPR high "0x${three} >> 6")
    math(EXPR low "0x${three} & 63")
    string(SUBSTRING ${digits} ${high} 1 high)
    string(SUBSTRING ${digits} ${low} 1 low)
    string(APPEND base64 ${high}${low})
  endforeach()
  string(SUBSTRING ${base64} 0 43 base64)
  set(${OUT} "'sha256-${base64}='" PARENT_SCOPE)
endfunction()

source_of(script script)
source_of(style style)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"app/view/view.h\"\nconst unsigned char hc_view_page[] = {${bytes}};\n"
  "const size_t hc_view_page_bytes = sizeof hc_view_page;\n"
  "const char hc_view_policy[] = \"default-src 'none'; script-src ${script}; style-src ${style}; "
  "img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\";\n")
