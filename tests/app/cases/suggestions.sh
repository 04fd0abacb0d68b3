refuse 2 "did you mean plan?" paln
refuse 2 "unknown command" qqqqqqqqqq
refuse 2 "did you mean mnf?" mnff "$scene" out.img
refuse 2 "did you mean mnf?" run read "$scene" ! mfn ! write out.img
refuse 2 "did you mean mnf?" stages mnff
refuse 2 "did you mean --components?" mnf "$scene" out.img --componets 3
refuse 2 "did you mean --components?" run read "$scene" ! mnf --componets 3 ! write out.img
refuse 2 "did you mean --threads?" run --thread 3 read "$scene" ! write out.img
refuse 2 "did you mean --overwrite?" pca "$scene" out.img --overwrit
refuse 2 "here: hcube endmembers SCENE LIBRARY --method ppi" ppi "$scene" out.sli
refuse 2 "--verbose: unknown option; that is the default; --progress plain" mnf "$scene" out.img --verbose
refuse 2 "-ot: unknown option; here: --type" mnf "$scene" out.img -ot Int16
refuse 2 "-of: unknown option; here: --format" run read "$scene" ! write out.img -of GTiff
refuse 2 "--force: unknown option; here: --overwrite" cov "$scene" s.json --force
refuse 2 "--verbose: unknown option (see: " info "$scene" --verbose
refuse 2 "no chain given" run
refuse 2 "SCENE is missing" mnf
refuse 2 "OUTPUT is missing" mnf "$scene"
refuse 2 "--device" mnf "$scene" out.img --device tpu
refuse 2 "--components" mnf "$scene" out.img --components 0
refuse 2 "goes nowhere" run read "$scene" ! mnf
refuse 2 "must be one of" mnf "$scene" out.img --type complex64
only
