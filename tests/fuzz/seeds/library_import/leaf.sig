/*** Spectra Vista SIG Data ***/
name= 1.sig
instrument= HI: 2 (HR-1024i)
comm= wet leaf
data= 
350,0  93,65  5,85  6,25
351,0  1,2E+2  6,62  6,5
