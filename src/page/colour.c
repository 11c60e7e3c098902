#include "page/colour.h"

#include <math.h>

static const double DEGREE = 3.14159265358979323846 / 180;

static uint8_t encode(double linear)
{
    const double x = linear < 0 ? 0 : linear > 1 ? 1 : linear;
    const double y = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
    return (uint8_t)lround(255 * y);
}

// From lightness, chroma and hue of the Oklab space, in which distances are what the eye sees.
static void from_oklab(double lightness, double chroma, double hue_degrees, uint8_t rgb[3])
{
    const double a = chroma * cos(hue_degrees * DEGREE);
    const double b = chroma * sin(hue_degrees * DEGREE);
    const double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    rgb[0] = encode(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
    rgb[1] = encode(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
    rgb[2] = encode(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
}

static int is_nothing(double fraction, uint8_t rgb[3])
{
    if (isnan(fraction)) {
        rgb[0] = rgb[1] = rgb[2] = 160;
    }
    return isnan(fraction);
}

void tess_colour_rising(double fraction, uint8_t rgb[3])
{
    if (!is_nothing(fraction, rgb)) {
        const double x = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
        // As much chroma as the screen has at every lightness and hue on the way.
        from_oklab(0.22 + 0.70 * x, 0.088 + 0.10 * x * x * x * x, 300 - 195 * x, rgb);
    }
}

void tess_colour_diverging(double fraction, uint8_t rgb[3])
{
    if (!is_nothing(fraction, rgb)) {
        const double size = fabs(fraction) > 1 ? 1 : fabs(fraction);
        from_oklab(0.97 - 0.5 * size, 0.15 * sin(90 * DEGREE * size), fraction < 0 ? 255 : 30, rgb);
    }
}
