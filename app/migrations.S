/* Embeds the migrations, in order; see schema.h. The Makefile gives the include path. */
    .macro migration name
    .asciz "\name"
    .incbin "migrations/\name"
    .byte 0
    .endm

    .section .rodata
    .globl schema_migrations
schema_migrations:
    migration "0002-search-index.sql"
    .byte 0
    .section .note.GNU-stack, "", %progbits
