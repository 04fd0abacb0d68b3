# Writes a page as a C file that the program holds: cmake -DPAGE=page.html -DOUTPUT=page.c -P page.cmake
file(READ ${PAGE} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"app/view/view.h\"\nconst unsigned char hc_view_page[] = {${bytes}};\n"
  "const size_t hc_view_page_bytes = sizeof hc_view_page;\n")
