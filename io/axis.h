/* Axis: what the values of an array run along. */
#ifndef HC_IO_AXIS_H
#define HC_IO_AXIS_H

typedef enum HcAxis { HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND, HC_AXES } HcAxis;

#endif
