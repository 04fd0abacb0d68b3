/*
 * A material is a continuum through a few knots, multiplied by absorption features exp(-depth * gaussian). A
 * library entry is a material made brighter or darker, with deeper or shallower features (grain size),
 * wetted, or mixed with a second one. The figures are made up after the well known shapes; they are no
 * measurements.
 */
#include "spectra.h"

#include <math.h>
#include <string.h>

enum { MAX_KNOTS = 24, MAX_FEATURES = 10 };

typedef struct Knot {
    double wavelength;  /* nm; 0 ends the list */
    double reflectance; /* 0 to 1 */
} Knot;

typedef struct Feature {
    double centre; /* nm; 0 ends the list */
    double sigma;  /* nm */
    double depth;  /* optical depth at the centre */
} Feature;

typedef struct Material {
    const char *name;
    Knot knots[MAX_KNOTS];
    Feature features[MAX_FEATURES];
} Material;

typedef struct Entry {
    const char *name;
    const char *material;
    double brightness;   /* factor on the reflectance */
    double depth;        /* factor on the depth of every feature: below 1 finer grain, above 1 coarser */
    double moisture;     /* 0 dry to 1 soaked */
    const char *partner; /* second material of a mixture, or NULL */
    double partner_share;
} Entry;

static const Material materials[] = {
    /* vegetation */
    {"Green vegetation",
     {{350, .040},  {400, .043},  {450, .045},  {500, .052},  {550, .105},  {600, .068},
      {650, .047},  {675, .042},  {690, .058},  {705, .125},  {720, .250},  {740, .390},
      {760, .450},  {800, .480},  {900, .500},  {1100, .510}, {1300, .490}, {1600, .420},
      {1800, .390}, {2000, .310}, {2200, .270}, {2400, .190}, {2550, .140}},
     {{970, 30, .07}, {1200, 45, .18}, {1450, 60, 1.2}, {1940, 75, 1.8}, {2100, 40, .06}, {2300, 35, .08}}},
    {"Conifer",
     {{350, .022},  {450, .025},  {500, .028},  {550, .048},  {600, .034},  {650, .026},  {675, .023},
      {700, .055},  {720, .120},  {750, .210},  {800, .240},  {900, .255},  {1100, .265}, {1300, .235},
      {1600, .165}, {1800, .145}, {2000, .105}, {2200, .090}, {2400, .060}, {2550, .045}},
     {{970, 30, .10}, {1200, 45, .26}, {1450, 60, 1.3}, {1940, 75, 1.9}, {2300, 35, .06}}},
    {"Meadow grass",
     {{350, .035},  {400, .038},  {450, .042},  {500, .055},  {550, .120},  {600, .090},  {650, .066},
      {675, .060},  {700, .130},  {720, .260},  {750, .400},  {800, .425},  {900, .445},  {1100, .470},
      {1300, .450}, {1600, .370}, {1800, .340}, {2000, .270}, {2200, .240}, {2400, .170}, {2550, .120}},
     {{970, 30, .06}, {1200, 45, .15}, {1450, 60, 1.0}, {1940, 75, 1.5}, {2100, 45, .10}, {2300, 35, .10}}},
    {"Maize",
     {{350, .038},  {450, .042},  {500, .056},  {550, .125},  {600, .080},  {650, .052},  {675, .046},
      {700, .140},  {720, .310},  {750, .490},  {800, .530},  {900, .550},  {1100, .555}, {1300, .510},
      {1600, .400}, {1800, .360}, {2000, .270}, {2200, .230}, {2400, .150}, {2550, .105}},
     {{970, 30, .10}, {1200, 45, .24}, {1450, 60, 1.5}, {1940, 75, 2.1}, {2300, 35, .05}}},
    {"Dry vegetation",
     {{350, .070},
      {400, .090},
      {500, .140},
      {600, .210},
      {700, .280},
      {800, .340},
      {1000, .410},
      {1300, .470},
      {1600, .490},
      {1800, .480},
      {2000, .440},
      {2200, .410},
      {2400, .340},
      {2550, .280}},
     {{670, 20, .06},
      {1200, 30, .04},
      {1450, 50, .20},
      {1730, 25, .06},
      {1930, 50, .30},
      {2100, 50, .22},
      {2300, 35, .18}}},
    {"Straw",
     {{350, .120},
      {400, .160},
      {500, .260},
      {600, .360},
      {700, .440},
      {800, .500},
      {1000, .560},
      {1300, .590},
      {1600, .580},
      {1800, .550},
      {2000, .480},
      {2200, .450},
      {2400, .360},
      {2550, .290}},
     {{1200, 30, .06},
      {1450, 50, .25},
      {1730, 22, .09},
      {1930, 50, .35},
      {2100, 48, .26},
      {2280, 22, .12},
      {2340, 18, .10}}},
    {"Bark",
     {{350, .050},
      {400, .065},
      {500, .095},
      {600, .140},
      {700, .200},
      {800, .270},
      {1000, .360},
      {1300, .440},
      {1600, .450},
      {1800, .430},
      {2000, .380},
      {2200, .340},
      {2400, .260},
      {2550, .210}},
     {{1200, 30, .04}, {1450, 50, .22}, {1730, 25, .07}, {1930, 50, .30}, {2100, 55, .20}, {2300, 35, .14}}},
    {"Moss",
     {{350, .030},
      {450, .034},
      {500, .045},
      {550, .075},
      {600, .066},
      {650, .050},
      {675, .042},
      {700, .080},
      {730, .170},
      {780, .230},
      {900, .270},
      {1100, .310},
      {1300, .280},
      {1600, .210},
      {1800, .180},
      {2000, .120},
      {2200, .110},
      {2400, .070},
      {2550, .050}},
     {{970, 32, .14}, {1200, 48, .34}, {1450, 65, 1.5}, {1940, 80, 2.0}, {2100, 45, .05}}},
    /* soils */
    {"Kaolinite soil",
     {{350, .180},
      {400, .260},
      {500, .380},
      {600, .460},
      {700, .520},
      {900, .570},
      {1200, .620},
      {1600, .660},
      {2000, .640},
      {2300, .550},
      {2550, .450}},
     {{480, 40, .08},
      {900, 70, .05},
      {1395, 12, .25},
      {1415, 14, .40},
      {1910, 35, .15},
      {2165, 15, .30},
      {2206, 16, .55},
      {2320, 12, .08},
      {2350, 12, .10},
      {2385, 12, .12}}},
    {"Iron-oxide soil",
     {{350, .035},
      {400, .040},
      {450, .050},
      {500, .066},
      {550, .105},
      {580, .165},
      {620, .235},
      {680, .295},
      {750, .345},
      {870, .370},
      {1000, .395},
      {1300, .440},
      {1600, .470},
      {2000, .450},
      {2200, .430},
      {2550, .360}},
     {{530, 30, .25}, {660, 30, .06}, {870, 60, .30}, {1415, 20, .10}, {1915, 40, .20}, {2206, 18, .10}}},
    {"Loam",
     {{350, .040},
      {400, .050},
      {500, .075},
      {600, .115},
      {700, .155},
      {900, .210},
      {1200, .270},
      {1600, .320},
      {2000, .310},
      {2300, .280},
      {2550, .240}},
     {{490, 40, .06}, {900, 70, .04}, {1415, 22, .08}, {1915, 40, .22}, {2206, 20, .08}}},
    {"Peat",
     {{350, .025},
      {500, .032},
      {700, .055},
      {900, .095},
      {1200, .160},
      {1600, .210},
      {2000, .190},
      {2300, .170},
      {2550, .140}},
     {{1450, 50, .20}, {1730, 25, .03}, {1930, 55, .45}, {2100, 55, .10}, {2310, 35, .10}}},
    {"Quartz sand",
     {{350, .160},
      {400, .210},
      {500, .310},
      {600, .420},
      {700, .480},
      {900, .520},
      {1200, .560},
      {1600, .590},
      {2000, .590},
      {2300, .570},
      {2550, .530}},
     {{490, 35, .07}, {880, 70, .04}, {1415, 20, .05}, {1915, 40, .12}, {2206, 20, .05}}},
    /* minerals */
    {"Kaolinite",
     {{350, .550},
      {450, .720},
      {600, .800},
      {900, .840},
      {1300, .870},
      {1700, .860},
      {2100, .800},
      {2550, .560}},
     {{1395, 10, .45},
      {1414, 12, .70},
      {1820, 14, .04},
      {1910, 30, .12},
      {2165, 14, .50},
      {2206, 14, .95},
      {2312, 10, .14},
      {2350, 11, .18},
      {2382, 12, .24}}},
    {"Montmorillonite",
     {{350, .350},
      {450, .500},
      {600, .620},
      {900, .690},
      {1300, .740},
      {1700, .740},
      {2100, .680},
      {2550, .480}},
     {{960, 30, .03}, {1412, 20, .50}, {1465, 35, .15}, {1908, 28, .75}, {2208, 20, .45}}},
    {"Illite",
     {{350, .200},
      {450, .300},
      {600, .420},
      {900, .490},
      {1300, .550},
      {1700, .570},
      {2100, .540},
      {2550, .390}},
     {{900, 70, .06}, {1412, 22, .25}, {1912, 32, .40}, {2208, 22, .40}, {2345, 20, .18}, {2440, 20, .10}}},
    {"Muscovite",
     {{350, .300},
      {450, .430},
      {600, .520},
      {900, .580},
      {1300, .640},
      {1700, .660},
      {2100, .640},
      {2550, .470}},
     {{1408, 14, .35}, {1912, 32, .08}, {2200, 17, .65}, {2346, 15, .32}, {2440, 18, .25}}},
    {"Alunite",
     {{350, .500},
      {450, .620},
      {600, .700},
      {900, .740},
      {1300, .780},
      {1700, .770},
      {2100, .690},
      {2550, .440}},
     {{1010, 25, .03},
      {1428, 14, .45},
      {1478, 18, .40},
      {1762, 18, .30},
      {2165, 28, .80},
      {2208, 16, .22},
      {2320, 16, .40},
      {2420, 18, .15}}},
    {"Jarosite",
     {{350, .090},
      {420, .130},
      {500, .300},
      {600, .420},
      {720, .500},
      {1200, .600},
      {1600, .640},
      {2100, .590},
      {2550, .400}},
     {{436, 16, .50}, {920, 60, .55}, {1468, 22, .18}, {1850, 25, .15}, {2265, 18, .50}, {2400, 18, .15}}},
    {"Hematite",
     {{350, .030},
      {450, .035},
      {520, .040},
      {560, .060},
      {590, .120},
      {630, .190},
      {700, .230},
      {760, .270},
      {1000, .310},
      {1300, .340},
      {1700, .350},
      {2550, .340}},
     {{530, 28, .20}, {660, 30, .10}, {865, 55, .55}}},
    {"Goethite",
     {{350, .050},
      {420, .070},
      {500, .120},
      {560, .240},
      {620, .310},
      {700, .370},
      {780, .430},
      {1200, .500},
      {1600, .520},
      {2100, .470},
      {2550, .330}},
     {{480, 26, .40}, {660, 35, .14}, {930, 75, .75}, {1415, 30, .08}, {1930, 45, .15}}},
    {"Calcite",
     {{350, .600},
      {450, .720},
      {600, .790},
      {900, .830},
      {1300, .860},
      {1700, .870},
      {2100, .830},
      {2550, .590}},
     {{1875, 18, .08}, {1995, 22, .12}, {2160, 20, .10}, {2340, 26, .55}, {2530, 28, .60}}},
    {"Dolomite",
     {{350, .450},
      {450, .560},
      {600, .640},
      {900, .690},
      {1300, .730},
      {1700, .750},
      {2100, .720},
      {2550, .520}},
     {{1050, 90, .04}, {1860, 18, .08}, {1985, 22, .10}, {2145, 20, .08}, {2318, 26, .55}, {2505, 28, .55}}},
    {"Gypsum",
     {{350, .650},
      {450, .760},
      {600, .820},
      {900, .850},
      {1300, .860},
      {1700, .820},
      {2100, .700},
      {2550, .400}},
     {{1000, 22, .06},
      {1200, 25, .13},
      {1446, 20, .75},
      {1490, 16, .50},
      {1535, 16, .40},
      {1750, 22, .35},
      {1942, 32, 1.1},
      {2215, 25, .32},
      {2268, 18, .18},
      {2480, 30, .40}}},
    {"Chlorite",
     {{350, .090},
      {450, .130},
      {540, .190},
      {700, .180},
      {900, .190},
      {1300, .300},
      {1700, .400},
      {2100, .400},
      {2550, .230}},
     {{690, 60, .16},
      {900, 90, .20},
      {1120, 110, .22},
      {1395, 14, .18},
      {2000, 35, .10},
      {2255, 16, .25},
      {2345, 24, .60}}},
    {"Lignite",
     {{350, .030},
      {500, .034},
      {700, .045},
      {900, .065},
      {1200, .100},
      {1600, .140},
      {2000, .150},
      {2550, .130}},
     {{1450, 50, .08}, {1700, 30, .03}, {1930, 50, .15}, {2310, 35, .06}}},
    /* water and snow */
    {"Water",
     {{350, .050},
      {400, .058},
      {450, .066},
      {500, .073},
      {550, .075},
      {580, .067},
      {620, .048},
      {680, .038},
      {720, .029},
      {760, .0250},
      {850, .0215},
      {950, .0190},
      {1100, .0175},
      {1300, .0165},
      {1800, .0155},
      {2550, .0150}},
     {{0, 0, 0}}},
    {"Turbid water",
     {{350, .050},
      {400, .065},
      {450, .088},
      {500, .115},
      {550, .150},
      {600, .155},
      {650, .148},
      {700, .130},
      {730, .080},
      {760, .070},
      {810, .074},
      {850, .050},
      {920, .026},
      {1000, .022},
      {1080, .024},
      {1200, .017},
      {1600, .0155},
      {2550, .0150}},
     {{670, 15, .06}}},
    {"Algal water",
     {{350, .035},
      {400, .036},
      {440, .033},
      {500, .042},
      {555, .085},
      {600, .058},
      {630, .045},
      {650, .052},
      {675, .028},
      {705, .082},
      {730, .034},
      {760, .025},
      {815, .028},
      {870, .022},
      {950, .019},
      {1100, .0175},
      {1600, .0155},
      {2550, .0150}},
     {{0, 0, 0}}},
    {"Snow",
     {{350, .960},  {450, .970},  {600, .960},  {700, .940},  {800, .900},  {900, .850},  {980, .780},
      {1100, .730}, {1200, .510}, {1300, .460}, {1400, .200}, {1500, .060}, {1600, .110}, {1700, .160},
      {1820, .210}, {1950, .040}, {2050, .040}, {2250, .130}, {2400, .070}, {2550, .050}},
     {{1030, 32, .20}, {1265, 30, .08}}},
    /* built surfaces */
    {"Asphalt",
     {{350, .070},
      {400, .080},
      {500, .100},
      {600, .115},
      {700, .125},
      {800, .132},
      {1000, .142},
      {1300, .158},
      {1600, .170},
      {2000, .177},
      {2200, .180},
      {2400, .172},
      {2550, .165}},
     {{880, 60, .03}, {1730, 18, .03}, {1930, 40, .03}, {2310, 22, .09}, {2350, 15, .05}}},
    {"Concrete",
     {{350, .140},
      {400, .190},
      {500, .260},
      {600, .310},
      {700, .335},
      {900, .355},
      {1300, .390},
      {1600, .400},
      {2000, .375},
      {2300, .350},
      {2550, .310}},
     {{1415, 20, .06}, {1450, 40, .10}, {1935, 40, .22}, {2205, 20, .04}, {2340, 26, .12}}},
    {"Red roof tile",
     {{350, .050},
      {400, .060},
      {500, .085},
      {550, .130},
      {580, .200},
      {620, .270},
      {700, .310},
      {760, .340},
      {1000, .390},
      {1300, .450},
      {1700, .500},
      {2100, .510},
      {2550, .480}},
     {{530, 28, .20}, {870, 70, .18}, {1910, 40, .06}, {2205, 20, .03}}},
    {"Bitumen roofing",
     {{350, .040}, {500, .046}, {700, .052}, {1000, .060}, {1500, .075}, {2000, .085}, {2550, .090}},
     {{1210, 18, .03}, {1725, 16, .10}, {1760, 14, .06}, {2310, 18, .18}, {2350, 14, .14}}},
    {"Galvanised steel",
     {{350, .220},
      {400, .290},
      {500, .340},
      {700, .360},
      {900, .340},
      {1050, .310},
      {1300, .380},
      {1700, .440},
      {2100, .470},
      {2550, .490}},
     {{1020, 80, .10}}},
    {"Polyethylene sheet",
     {{350, .400},
      {450, .620},
      {600, .680},
      {900, .690},
      {1300, .650},
      {1700, .560},
      {2100, .480},
      {2550, .330}},
     {{930, 14, .06},
      {1040, 14, .03},
      {1212, 14, .30},
      {1395, 16, .22},
      {1415, 14, .20},
      {1728, 14, .75},
      {1762, 13, .55},
      {2310, 14, .70},
      {2350, 14, .60},
      {2460, 25, .50}}},
};

static const Entry entries[] = {
    {"Green vegetation stressed", "Green vegetation", .92, .55, 0, "Dry vegetation", .20},
    {"Green vegetation lush", "Green vegetation", 1.06, 1.25, 0, NULL, 0},
    {"Green vegetation", "Green vegetation", 1, 1, 0, NULL, 0},
    {"Green vegetation open", "Green vegetation", 1, 1, 0, "Loam", .35},
    {"Conifer", "Conifer", 1, 1, 0, NULL, 0},
    {"Conifer young", "Conifer", 1.25, 1.05, 0, NULL, 0},
    {"Meadow grass", "Meadow grass", 1, 1, 0, NULL, 0},
    {"Meadow grass mown", "Meadow grass", .95, .8, 0, "Straw", .30},
    {"Maize", "Maize", 1, 1, 0, NULL, 0},
    {"Moss", "Moss", 1, 1, 0, NULL, 0},
    {"Dry vegetation weathered", "Dry vegetation", .72, .70, 0, NULL, 0},
    {"Dry vegetation", "Dry vegetation", 1, 1, 0, NULL, 0},
    {"Dry vegetation moist", "Dry vegetation", .95, 1, .40, NULL, 0},
    {"Straw", "Straw", 1, 1, 0, NULL, 0},
    {"Straw on loam", "Straw", 1, 1, 0, "Loam", .50},
    {"Bark", "Bark", 1, 1, 0, NULL, 0},
    {"Kaolinite soil fine", "Kaolinite soil", 1.10, .75, 0, NULL, 0},
    {"Kaolinite soil coarse", "Kaolinite soil", .85, 1.35, 0, NULL, 0},
    {"Kaolinite soil wet", "Kaolinite soil", 1, 1, .60, NULL, 0},
    {"Kaolinite soil", "Kaolinite soil", 1, 1, 0, NULL, 0},
    {"Iron-oxide soil wet", "Iron-oxide soil", 1, 1, .60, NULL, 0},
    {"Iron-oxide soil", "Iron-oxide soil", 1, 1, 0, NULL, 0},
    {"Iron-oxide soil coarse", "Iron-oxide soil", .82, 1.40, 0, NULL, 0},
    {"Iron-oxide soil clayey", "Iron-oxide soil", 1, 1, 0, "Kaolinite soil", .30},
    {"Loam", "Loam", 1, 1, 0, NULL, 0},
    {"Loam wet", "Loam", 1, 1, .60, NULL, 0},
    {"Peat", "Peat", 1, 1, 0, NULL, 0},
    {"Quartz sand", "Quartz sand", 1, 1, 0, NULL, 0},
    {"Quartz sand wet", "Quartz sand", 1, 1, .50, NULL, 0},
    {"Kaolinite", "Kaolinite", 1, 1, 0, NULL, 0},
    {"Kaolinite coarse", "Kaolinite", .85, 1.40, 0, NULL, 0},
    {"Montmorillonite", "Montmorillonite", 1, 1, 0, NULL, 0},
    {"Montmorillonite fine", "Montmorillonite", 1.06, .70, 0, NULL, 0},
    {"Illite", "Illite", 1, 1, 0, NULL, 0},
    {"Muscovite", "Muscovite", 1, 1, 0, NULL, 0},
    {"Muscovite with illite", "Muscovite", 1, 1, 0, "Illite", .50},
    {"Alunite", "Alunite", 1, 1, 0, NULL, 0},
    {"Alunite with kaolinite", "Alunite", 1, 1, 0, "Kaolinite", .50},
    {"Jarosite", "Jarosite", 1, 1, 0, NULL, 0},
    {"Hematite", "Hematite", 1, 1, 0, NULL, 0},
    {"Hematite fine", "Hematite", 1.30, .65, 0, NULL, 0},
    {"Goethite", "Goethite", 1, 1, 0, NULL, 0},
    {"Goethite coarse", "Goethite", .75, 1.30, 0, NULL, 0},
    {"Calcite", "Calcite", 1, 1, 0, NULL, 0},
    {"Dolomite", "Dolomite", 1, 1, 0, NULL, 0},
    {"Gypsum", "Gypsum", 1, 1, 0, NULL, 0},
    {"Chlorite", "Chlorite", 1, 1, 0, NULL, 0},
    {"Lignite", "Lignite", 1, 1, 0, NULL, 0},
    {"Water", "Water", 1, 1, 0, NULL, 0},
    {"Turbid water", "Turbid water", 1, 1, 0, NULL, 0},
    {"Algal water", "Algal water", 1, 1, 0, NULL, 0},
    {"Snow", "Snow", 1, 1, 0, NULL, 0},
    {"Asphalt new", "Asphalt", .55, 1.60, 0, NULL, 0},
    {"Asphalt", "Asphalt", 1, 1, 0, NULL, 0},
    {"Asphalt worn", "Asphalt", 1.35, .60, 0, "Quartz sand", .10},
    {"Concrete", "Concrete", 1, 1, 0, NULL, 0},
    {"Red roof tile", "Red roof tile", 1, 1, 0, NULL, 0},
    {"Bitumen roofing", "Bitumen roofing", 1, 1, 0, NULL, 0},
    {"Galvanised steel", "Galvanised steel", 1, 1, 0, NULL, 0},
    {"Polyethylene sheet", "Polyethylene sheet", 1, 1, 0, NULL, 0},
};

enum { ENTRY_COUNT = sizeof entries / sizeof entries[0] };

static double gaussian(double x, double centre, double sigma) {
    double z = (x - centre) / sigma;
    return exp(-0.5 * z * z);
}

/* The slope of the monotone cubic (Fritsch and Butland) at knot i: no overshoot between knots. */
static double knot_slope(const Knot *knots, size_t count, size_t i) {
    if (i == 0 || i + 1 == count) {
        return 0.0;
    }
    double before = knots[i].wavelength - knots[i - 1].wavelength;
    double after = knots[i + 1].wavelength - knots[i].wavelength;
    double slope_before = (knots[i].reflectance - knots[i - 1].reflectance) / before;
    double slope_after = (knots[i + 1].reflectance - knots[i].reflectance) / after;
    if (slope_before * slope_after <= 0.0) {
        return 0.0;
    }
    double weight_before = 2.0 * after + before;
    double weight_after = after + 2.0 * before;
    return (weight_before + weight_after) / (weight_before / slope_before + weight_after / slope_after);
}

static double continuum(const Knot *knots, double wavelength) {
    size_t count = 0;
    while (count < MAX_KNOTS && knots[count].wavelength > 0.0) {
        count++;
    }
    if (wavelength <= knots[0].wavelength) {
        return knots[0].reflectance;
    }
    if (wavelength >= knots[count - 1].wavelength) {
        return knots[count - 1].reflectance;
    }
    size_t i = 0;
    while (wavelength > knots[i + 1].wavelength) {
        i++;
    }
    double width = knots[i + 1].wavelength - knots[i].wavelength;
    double t = (wavelength - knots[i].wavelength) / width;
    double u = 1.0 - t;
    return (1.0 + 2.0 * t) * u * u * knots[i].reflectance + t * u * u * width * knot_slope(knots, count, i) +
           t * t * (3.0 - 2.0 * t) * knots[i + 1].reflectance -
           t * t * u * width * knot_slope(knots, count, i + 1);
}

static double material_reflectance(const char *name, double depth, double wavelength) {
    const Material *material = materials;
    while (strcmp(material->name, name) != 0) {
        material++;
    }
    double optical_depth = 0.0;
    for (size_t i = 0; i < MAX_FEATURES && material->features[i].centre > 0.0; i++) {
        const Feature *feature = &material->features[i];
        optical_depth += feature->depth * gaussian(wavelength, feature->centre, feature->sigma);
    }
    return continuum(material->knots, wavelength) * exp(-depth * optical_depth);
}

/* Liquid water between the grains: darker everywhere, and the overtone bands of water. */
static double wetness(double moisture, double wavelength) {
    double optical_depth =
        0.05 * gaussian(wavelength, 970.0, 40.0) + 0.15 * gaussian(wavelength, 1200.0, 60.0) +
        1.00 * gaussian(wavelength, 1450.0, 70.0) + 1.60 * gaussian(wavelength, 1935.0, 80.0) +
        0.60 / (1.0 + exp(-(wavelength - 2250.0) / 120.0));
    return (1.0 - 0.35 * moisture) * exp(-moisture * optical_depth);
}

size_t spectrum_count(void) {
    return ENTRY_COUNT;
}

const char *spectrum_name(size_t index) {
    return entries[index].name;
}

size_t spectrum_find(const char *name) {
    size_t index = 0;
    while (index < ENTRY_COUNT && strcmp(entries[index].name, name) != 0) {
        index++;
    }
    return index;
}

double spectrum_reflectance(size_t index, double wavelength) {
    const Entry *entry = &entries[index];
    double value = material_reflectance(entry->material, entry->depth, wavelength) * entry->brightness;
    if (entry->partner) {
        double partner = material_reflectance(entry->partner, 1.0, wavelength);
        value = (1.0 - entry->partner_share) * value + entry->partner_share * partner;
    }
    if (entry->moisture > 0.0) {
        value *= wetness(entry->moisture, wavelength);
    }
    return value < 1.0 ? value : 1.0;
}

double spectrum_in_band(size_t index, double centre, double fwhm) {
    double sigma = fwhm / 2.354820045030949;
    int reach = (int)ceil(3.0 * sigma);
    double sum = 0.0;
    double weights = 0.0;
    for (int step = -reach; step <= reach; step++) {
        double weight = gaussian(step, 0.0, sigma);
        sum += weight * spectrum_reflectance(index, centre + step);
        weights += weight;
    }
    return sum / weights;
}
