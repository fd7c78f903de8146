/* Embeds the SQL scripts; see schema.h. The Makefile gives the include path. */
    .section .rodata
    .globl schema_sql
    .globl schema_demo_sql
schema_sql:
    .incbin "schema.sql"
    .byte 0
schema_demo_sql:
    .incbin "app/demo.sql"
    .byte 0
    .section .note.GNU-stack, "", %progbits
