#include "io/shape/attributes.h"
#include "core/allocate.h"
#include "core/text.h"
#include "io/shape/shapes.h"
#include "core/texts.h"

#include <stdlib.h>
#include <string.h>

static const char what[] = "attributes of polygons";

void hc_attributes_clear(HcAttributes *attributes) {
    hc_free_texts(attributes->value, attributes->features * attributes->count);
    hc_free_texts(attributes->name, attributes->count);
    free(attributes->type);
    free(attributes->field);
    *attributes = (HcAttributes){0};
}

static HcAttributeType type_of(OGRFieldType type) {
    return type == OFTInteger || type == OFTInteger64 ? HC_ATTRIBUTE_INTEGER
           : type == OFTReal                          ? HC_ATTRIBUTE_REAL
                                                      : HC_ATTRIBUTE_TEXT;
}

static HcStatus add(HcAttributes *to, OGRFeatureDefnH definition, int field, HcError *err) {
    OGRFieldDefnH of = OGR_FD_GetFieldDefn(definition, field);
    for (int32_t k = 0; k < to->count; k++) {
        if (to->field[k] == field) {
            return HC_OK;
        }
    }
    to->name[to->count] = strdup(OGR_Fld_GetNameRef(of));
    HC_OR_RETURN(hc_text_made(to->name[to->count], 0, what, err));
    to->type[to->count] = type_of(OGR_Fld_GetType(of));
    to->field[to->count++] = field;
    return HC_OK;
}

/* Adds all attributes except the class, which points have by its name, and in CSV the geometry. */
static HcStatus add_all(HcAttributes *to, OGRFeatureDefnH definition, int besides, HcError *err) {
    for (int i = 0; i < OGR_FD_GetFieldCount(definition); i++) {
        OGRFieldDefnH field = OGR_FD_GetFieldDefn(definition, i);
        bool wanted = i != besides && OGR_Fld_GetType(field) != OFTBinary &&
                      !hc_text_equal(OGR_Fld_GetNameRef(field), "wkt");
        HC_OR_RETURN(wanted ? add(to, definition, i, err) : HC_OK);
    }
    return HC_OK;
}

static HcStatus add_named(HcAttributes *to, const HcShapes *shapes, char *list, HcError *err) {
    OGRFeatureDefnH definition = OGR_L_GetLayerDefn(shapes->layer);
    char *rest = NULL;
    for (char *name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        int field = OGR_FD_GetFieldIndex(definition, name);
        if (field < 0) {
            return hc_fail(err, HC_E_USAGE, "%s: layer '%.60s' has no attribute '%.100s'", shapes->path,
                           shapes->layer_name, name);
        }
        HC_OR_RETURN(add(to, definition, field, err));
    }
    return HC_OK;
}

HcStatus hc_attributes_choose(HcAttributes *to, const HcShapes *shapes, const char *list, int besides,
                              HcError *err) {
    OGRFeatureDefnH definition = OGR_L_GetLayerDefn(shapes->layer);
    size_t fields = (size_t)OGR_FD_GetFieldCount(definition);
    HC_OR_RETURN(hc_new(to->name, fields, what, err));
    HC_OR_RETURN(hc_new(to->type, fields, what, err));
    HC_OR_RETURN(hc_new(to->field, fields, what, err));
    if (hc_text_equal(list, "all")) {
        return add_all(to, definition, besides, err);
    }
    char *names = strdup(list);
    HC_OR_RETURN(hc_text_made(names, 0, what, err));
    HcStatus status = add_named(to, shapes, names, err);
    free(names);
    return status;
}

HcStatus hc_attributes_add(HcAttributes *to, OGRFeatureH feature, HcError *err) {
    size_t count = (size_t)to->count;
    if (count == 0) {
        return HC_OK;
    }
    if (to->features == to->capacity) {
        int64_t capacity = to->capacity > 0 ? 2 * to->capacity : 64;
        char **grown = realloc(to->value, (size_t)capacity * count * sizeof *grown);
        if (grown == NULL) {
            return hc_fail_memory(err, (double)capacity * (double)count * sizeof *grown, what);
        }
        to->value = grown;
        to->capacity = capacity;
    }
    char **value = to->value + (size_t)to->features * count;
    memset(value, 0, count * sizeof *value);
    to->features++;
    for (size_t k = 0; k < count; k++) {
        bool there = OGR_F_IsFieldSetAndNotNull(feature, to->field[k]);
        if (there && (value[k] = strdup(OGR_F_GetFieldAsString(feature, to->field[k]))) == NULL) {
            return hc_fail_memory(err, 0, what);
        }
    }
    return HC_OK;
}

void hc_attributes_move(HcAttributes *attributes, int64_t from, int64_t to) {
    for (int32_t k = 0; k < attributes->count; k++) {
        char **a = &attributes->value[from * attributes->count + k];
        char **b = &attributes->value[to * attributes->count + k];
        char *kept = *b;
        *b = *a;
        *a = kept;
    }
}
