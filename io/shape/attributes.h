/* Attributes: the fields that come with polygons and points, as texts, so that what is made of these can
 * carry them on. */
#ifndef HC_IO_SHAPE_ATTRIBUTES_H
#define HC_IO_SHAPE_ATTRIBUTES_H

#include <stdint.h>

typedef enum HcAttributeType { HC_ATTRIBUTE_TEXT, HC_ATTRIBUTE_INTEGER, HC_ATTRIBUTE_REAL } HcAttributeType;

/* Attributes of some features. Owns its arrays. Zero-initialise; hc_attributes_clear() is always safe. */
typedef struct HcAttributes {
    int32_t count; /* attributes */
    char **name;   /* [count] */
    HcAttributeType *type;
    int32_t *field; /* [count] of the layer */
    char **value;   /* [features][count]; NULL = the feature has none */
    int64_t features, capacity;
} HcAttributes;

/* The value of an attribute, or NULL. */
static inline const char *hc_attributes_value(const HcAttributes *attributes, int64_t feature,
                                              int32_t attribute) {
    return attributes->value[feature * attributes->count + attribute];
}

void hc_attributes_clear(HcAttributes *attributes);

#endif
