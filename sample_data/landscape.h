/* The landscape of make_sample: which share of each material covers a place. */
#ifndef SAMPLE_DATA_LANDSCAPE_H
#define SAMPLE_DATA_LANDSCAPE_H

enum { MATERIALS = 6 };

typedef enum Material { GREEN, DRY, KAOLINITE, IRON, WATER, ASPHALT } Material;

/* The shares at a place, which sum to one; x along samples, y along lines [pixels]. */
void draw_landscape(double x, double y, double mix[MATERIALS]);

#endif
