/* Embeds the API's description; see openapi.h. The Makefile gives the include path. */
    .section .rodata
    .globl openapi_json
openapi_json:
    .incbin "docs/openapi.json"
    .byte 0
    .section .note.GNU-stack, "", %progbits
