NAME small FREE
OBJSENSE
    MAX
ROWS
 N cost
 L r1
 G r2
 E r3
COLUMNS
 x cost 1 r1 1
 x r2 2
 M1 'MARKER' 'INTORG'
 y cost -2.5e0 r1 1 r3 1
 M2 'MARKER' 'INTEND'
 z r3 4
RHS
 RHS r1 10 r2 1
 RHS r3 3 cost 7
RANGES
 R r1 2 r3 -1
BOUNDS
 UP b x 4
 MI b y
 FR b z
ENDATA
