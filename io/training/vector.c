/* Vector data as training data: the field that names the class, and the class of each feature. */
#include "core/text.h"
#include "io/read/metadata/envi_header.h"
#include "io/gdal/errors.h"
#include "io/training/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTED_MAX 12 /* names in a message */

typedef struct Vector {
    HcLabelling *labelling;
    HcShapes shapes;
    int field;  /* -1 = features are classes by their numbers, or by those of `number` */
    int number; /* the field of the number of the class, or -1 */
    OGRFieldType type;
} Vector;

/* ---- the field ---- */

static bool can_name_classes(OGRFieldType type) {
    return type == OFTString || type == OFTInteger || type == OFTInteger64 || type == OFTReal;
}

/* Whether a field is more than the number of the feature or (in CSV) its geometry, and holds text or
 * integers. */
static bool is_sensible(OGRFieldDefnH field) {
    static const char *const numbers[] = {"fid",  "id",       "ogc_fid", "objectid", "gid",
                                          "uuid", "globalid", "wkt",     NULL};
    OGRFieldType type = OGR_Fld_GetType(field);
    return can_name_classes(type) && type != OFTReal && hc_text_find(OGR_Fld_GetNameRef(field), numbers) < 0;
}

static void list_fields(OGRFeatureDefnH definition, HcText *text) {
    int count = OGR_FD_GetFieldCount(definition);
    for (int i = 0; i < count && i < LISTED_MAX; i++) {
        OGRFieldDefnH field = OGR_FD_GetFieldDefn(definition, i);
        OGRFieldType type = OGR_Fld_GetType(field);
        const char *word = type == OFTString                            ? "text"
                           : type == OFTInteger || type == OFTInteger64 ? "integer"
                           : type == OFTReal                            ? "number"
                                                                        : OGR_GetFieldTypeName(type);
        hc_text_add(text, "%s'%.40s' (%s)", i > 0 ? ", " : "", OGR_Fld_GetNameRef(field), word);
    }
    hc_text_add(text, "%s", count > LISTED_MAX ? ", ..." : count == 0 ? "none" : "");
}

/* `why`: "has no field 'x'", "choose the field that names the class". */
static HcStatus fail_field(const Vector *vector, const char *why, HcError *err) {
    HcText list = {0};
    list_fields(OGR_L_GetLayerDefn(vector->shapes.layer), &list);
    HcStatus status =
        hc_fail_text(err, HC_E_USAGE, &list, "%s: layer '%.60s' %s; fields: %s", vector->labelling->path,
                     vector->shapes.layer_name, why, hc_text_shown(&list));
    hc_text_clear(&list);
    return status;
}

/* --field-number. */
static HcStatus choose_number(Vector *vector, const char *name, HcError *err) {
    OGRFeatureDefnH definition = OGR_L_GetLayerDefn(vector->shapes.layer);
    char why[160];
    vector->number = name != NULL ? OGR_FD_GetFieldIndex(definition, name) : -1;
    if (name == NULL) {
        return HC_OK;
    }
    OGRFieldType type =
        vector->number >= 0 ? OGR_Fld_GetType(OGR_FD_GetFieldDefn(definition, vector->number)) : OFTString;
    bool whole = type == OFTInteger || type == OFTInteger64 || type == OFTReal;
    snprintf(why, sizeof why, "has no %s '%.100s'", vector->number < 0 ? "field" : "numbers in", name);
    return whole ? HC_OK : fail_field(vector, why, err);
}

static HcStatus choose_field(Vector *vector, const char *name, HcError *err) {
    OGRFeatureDefnH definition = OGR_L_GetLayerDefn(vector->shapes.layer);
    char why[160];
    int sensible = 0;
    vector->field = name != NULL ? OGR_FD_GetFieldIndex(definition, name) : -1;
    for (int i = 0; name == NULL && i < OGR_FD_GetFieldCount(definition); i++) {
        if (i != vector->number && is_sensible(OGR_FD_GetFieldDefn(definition, i))) {
            vector->field = i;
            sensible++;
        }
    }
    bool needless = vector->number >= 0 ? sensible != 1 : vector->labelling->any && sensible == 0;
    if (name == NULL && needless) {
        vector->field = -1;
        return HC_OK;
    }
    if (name == NULL && sensible != 1) {
        return fail_field(vector, "does not say by itself which field names the class, choose one", err);
    }
    if (vector->field < 0) {
        snprintf(why, sizeof why, "has no field '%.100s'", name);
        return fail_field(vector, why, err);
    }
    OGRFieldDefnH field = OGR_FD_GetFieldDefn(definition, vector->field);
    vector->type = OGR_Fld_GetType(field);
    if (!can_name_classes(vector->type)) {
        snprintf(why, sizeof why, "has no text or whole numbers in '%.80s'", OGR_Fld_GetNameRef(field));
        return fail_field(vector, why, err);
    }
    char **kept = &vector->labelling->out->field;
    *kept = hc_envi_clean(OGR_Fld_GetNameRef(field));
    HC_OR_RETURN(hc_text_made(*kept, 64, "the name of a field", err));
    return HC_OK;
}

/* ---- features ---- */

/* The whole number in a field. */
static HcStatus number_of(Vector *vector, OGRFeatureH feature, int field, int64_t *number, HcError *err) {
    OGRFieldDefnH definition = OGR_F_GetFieldDefnRef(feature, field);
    double value = OGR_F_GetFieldAsDouble(feature, field);
    if (OGR_Fld_GetType(definition) != OFTReal) {
        *number = OGR_F_GetFieldAsInteger64(feature, field);
        return HC_OK;
    }
    if (!(fabs(value) <= 0x1p53) || value != floor(value)) {
        char what[200];
        snprintf(what, sizeof what, "has %.17g in '%.80s': classes are texts or whole numbers", value,
                 OGR_Fld_GetNameRef(definition));
        vector->shapes.number = OGR_F_GetFID(feature);
        return hc_shapes_fail(&vector->shapes, what, err);
    }
    *number = (int64_t)value;
    return HC_OK;
}

/* Keeps the first name of a number, and refuses another one. Takes the name over. */
static HcStatus name_number(Vector *vector, int32_t id, char *name, HcError *err) {
    HcClassKey *key = &vector->labelling->key[id - 1];
    HcStatus status =
        key->text == NULL || strcmp(key->text, name) == 0
            ? HC_OK
            : hc_fail(err, HC_E_INPUT, "%s: the number %" PRId64 " has the names '%.80s' and '%.80s'",
                      vector->labelling->path, key->number, key->text, name);
    if (key->text == NULL) {
        key->text = name;
    } else {
        free(name);
    }
    return status;
}

/* By a text, and perhaps the number of another field. */
static HcStatus class_of_text(Vector *vector, OGRFeatureH feature, int64_t number, int32_t *id,
                              HcError *err) {
    char *text = hc_envi_clean(OGR_F_GetFieldAsString(feature, vector->field));
    HC_OR_RETURN(hc_text_made(text, 64, "the name of a class", err));
    bool none = text[0] == '\0' || hc_class_is_none(text);
    if (none || vector->number < 0) {
        HcStatus status = none ? HC_OK : hc_labelling_class(vector->labelling, 0, text, id, err);
        free(text);
        return status;
    }
    HcStatus status = hc_labelling_class(vector->labelling, number, NULL, id, err);
    if (status != HC_OK) {
        free(text);
        return status;
    }
    return name_number(vector, *id, text, err);
}

/* The class of a feature; *id = 0 when it names none. */
static HcStatus class_of(Vector *vector, OGRFeatureH feature, int32_t *id, HcError *err) {
    int64_t number = 0;
    bool is_text = vector->field >= 0 && vector->type == OFTString;
    int field = vector->number >= 0 ? vector->number : is_text ? -1 : vector->field;
    *id = 0;
    if (vector->field < 0 && vector->number < 0) {
        return hc_labelling_class(vector->labelling, OGR_F_GetFID(feature), NULL, id, err);
    }
    if ((vector->field >= 0 && !OGR_F_IsFieldSetAndNotNull(feature, vector->field)) ||
        (field >= 0 && !OGR_F_IsFieldSetAndNotNull(feature, field))) {
        return HC_OK;
    }
    if (field >= 0) {
        HC_OR_RETURN(number_of(vector, feature, field, &number, err));
    }
    if (field >= 0 && number == 0) {
        return HC_OK;
    }
    if (vector->number >= 0 && (number < 0 || number > HC_CLASS_NUMBER_MAX)) {
        char what[120];
        snprintf(what, sizeof what, "has the number %" PRId64 ": classes have 1 to %d", number,
                 HC_CLASS_NUMBER_MAX);
        vector->shapes.number = OGR_F_GetFID(feature);
        return hc_shapes_fail(&vector->shapes, what, err);
    }
    return is_text ? class_of_text(vector, feature, number, id, err)
                   : hc_labelling_class(vector->labelling, number, NULL, id, err);
}

static HcStatus take_feature(Vector *vector, OGRFeatureH feature, HcError *err) {
    HcStatus status = HC_OK;
    HcLabelled *out = vector->labelling->out;
    HcShapes *shapes = &vector->shapes;
    OGRGeometryH geometry = hc_shapes_geometry(feature);
    int32_t class_id = 0;
    if (geometry == NULL) {
        out->empty_features++;
        goto done;
    }
    HC_TRY(class_of(vector, feature, &class_id, err));
    if (class_id == 0) {
        out->unnamed_features++;
        goto done;
    }
    int64_t taken = shapes->features;
    HC_TRY(hc_shapes_take(shapes, geometry, OGR_F_GetFID(feature), class_id, err));
    if (shapes->features > taken) {
        HC_TRY(hc_attributes_add(&out->attributes, feature, err));
    }
    out->mended_features += shapes->mended && shapes->any_area;
    if (!shapes->any_area && shapes->unprojected) {
        out->unprojected_features++;
    } else if (!shapes->any_area) {
        out->empty_features++;
    }
done:
    OGR_G_DestroyGeometry(geometry);
    return status;
}

static HcStatus take_features(Vector *vector, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    OGRFeatureH feature = NULL;
    hc_gdal_catch(&messages);
    OGR_L_ResetReading(vector->shapes.layer);
    while (status == HC_OK && (feature = OGR_L_GetNextFeature(vector->shapes.layer)) != NULL) {
        status = take_feature(vector, feature, err);
        OGR_F_Destroy(feature);
    }
    hc_gdal_release();
    if (status == HC_OK && messages.failed) {
        status = hc_gdal_fail(err, HC_E_IO, vector->labelling->path, &messages);
    }
    return status;
}

/* ---- what came of it ---- */

static HcStatus check_overlap(const Vector *vector, HcError *err) {
    const HcLabelled *out = vector->labelling->out;
    const HcShapes *shapes = &vector->shapes;
    if (shapes->count > 0) {
        return HC_OK;
    }
    if (shapes->features == 0) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: layer '%.60s' has no feature with a class and a geometry (%" PRId64
                       " without geometry, %" PRId64 " without '%.80s', %" PRId64 " beyond the CRS)",
                       shapes->path, shapes->layer_name, out->empty_features, out->unnamed_features,
                       out->field != NULL ? out->field : "a number", out->unprojected_features);
    }
    return hc_shapes_fail_apart(shapes, err);
}

/* Features whose shapes hold the centre of no pixel. Shapes of a feature lie together. */
static int64_t count_outside(const HcShapes *shapes) {
    int64_t used = 0, last = -1;
    for (int64_t i = 0; i < shapes->count; i++) {
        if (shapes->shape[i].used && shapes->shape[i].feature != last) {
            last = shapes->shape[i].feature;
            used++;
        }
    }
    return shapes->features - used;
}

HcStatus hc_labelling_vector(HcLabelling *labelling, GDALDatasetH dataset, const char *field,
                             const char *number, const char *layer, HcError *err) {
    HcStatus status = HC_OK;
    Vector vector = {.labelling = labelling,
                     .shapes = {.path = labelling->path,
                                .scene = labelling->scene,
                                .table = labelling->table,
                                .taken = "classes are taken from polygons and points"}};
    HcShapes *shapes = &vector.shapes;
    HcShapeMap map = {0};
    HC_TRY(hc_shapes_choose(shapes, dataset, layer, err));
    HC_TRY(choose_number(&vector, number, err));
    HC_TRY(choose_field(&vector, field, err));
    if (labelling->attributes != NULL) {
        HC_TRY(hc_attributes_choose(&labelling->out->attributes, shapes, labelling->attributes, vector.field,
                                    err));
    }
    if (hc_shape_on_map(labelling->scene) && hc_shapes_on_earth(shapes)) {
        HC_TRY(hc_shape_map_open(&map, labelling->scene, err));
        shapes->scene = &map.scene;
    }
    HC_TRY(hc_shapes_place(shapes, err));
    HC_TRY(take_features(&vector, err));
    HC_TRY(check_overlap(&vector, err));
    HC_TRY(map.ortho != NULL ? hc_labelling_visit(labelling, &map, shapes, err)
                             : hc_labelling_burn(labelling, shapes->shape, shapes->count, err));
    labelling->out->outside_features = count_outside(shapes);
    HC_TRY(hc_labelling_finish(labelling, NULL, err));
done:
    hc_shapes_clear(shapes);
    hc_shape_map_close(&map);
    return status;
}
