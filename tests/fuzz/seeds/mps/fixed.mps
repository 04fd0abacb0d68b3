NAME          WYNDOR
ROWS
 N  COST
 L  R1
 G  R2
COLUMNS
    X         COST               3.0   R1                 1.0
    X         R2                 1.0
    Y         COST               5.0   R2                 2.0
RHS
    RHS       R1                 4.0   R2                12.0
BOUNDS
 UP BND       X                  4.0
 FX BND       Y                  1.0
ENDATA
