gguf_TESTS := test_decode.c test_encode.c test_gguf.c test_quantize.c
