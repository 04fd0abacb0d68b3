Comment: wet soil
Instrument: PSR [3]
Columns [4]:
Data:
Chan.#	Wvl	Rad. (Ref.)	Reflect. %
1	350.0	1.2E-1	12.5
2	351	1	13.5
