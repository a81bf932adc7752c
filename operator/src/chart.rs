//! Pictures as SVG text that reads in light and in dark.
//!
//! Inputs: series of points, thresholds, shaded spans, moments. Outputs: one `<svg>` element. The drawing library knows
//! no style sheets, so ink and grid are drawn in two marker colours that become `currentColor`; series colours are chosen
//! to have contrast on both backgrounds. Every axis is named with its unit.

use std::ops::Range;

use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

/// Width and height in pixels of the view box; the page scales them.
const SIZE: (u32, u32) = (860, 300);
/// Height of a line of names in pixels.
const LINE: i32 = 13;
/// Becomes `currentColor`.
const INK: RGBColor = RGBColor(1, 2, 3);
/// Becomes `currentColor` at low opacity, through the style sheet's class.
const GRID: RGBColor = RGBColor(4, 5, 6);

/// Series colours with at least 3:1 contrast on white and on near-black.
pub(crate) const BLUE: RGBColor = RGBColor(42, 125, 211);
/// What would have been.
pub(crate) const ORANGE: RGBColor = RGBColor(214, 106, 30);
/// A third series.
pub(crate) const GREEN: RGBColor = RGBColor(46, 145, 94);
/// Trouble.
pub(crate) const RED: RGBColor = RGBColor(205, 70, 70);
/// A fifth series and on.
pub(crate) const PURPLE: RGBColor = RGBColor(150, 95, 200);
pub(crate) const TEAL: RGBColor = RGBColor(18, 140, 152);
pub(crate) const OLIVE: RGBColor = RGBColor(140, 122, 30);

/// A named line. Points without a value are gaps.
pub(crate) struct Series {
    /// Shown in the legend.
    pub(crate) name: String,
    /// Colour.
    pub(crate) colour: RGBColor,
    /// Drawn dashed.
    pub(crate) dashed: bool,
    /// Points.
    pub(crate) points: Vec<(f64, Option<f64>)>,
}

/// A picture.
pub(crate) struct Chart {
    /// Read out instead of the picture.
    pub(crate) title: String,
    /// Horizontal axis with its unit.
    pub(crate) x: &'static str,
    /// Vertical axis with its unit.
    pub(crate) y: &'static str,
    /// Lines.
    pub(crate) series: Vec<Series>,
    /// Named horizontal lines.
    pub(crate) thresholds: Vec<(String, f64)>,
    /// Named vertical lines.
    pub(crate) moments: Vec<(String, f64)>,
    /// Shaded spans of the horizontal axis.
    pub(crate) shaded: Vec<Range<f64>>,
    /// Logarithmic vertical axis.
    pub(crate) logarithmic: bool,
}

impl Chart {
    /// The picture, or a sentence where there is nothing to draw.
    pub(crate) fn svg(&self) -> String {
        let mut text = String::new();
        let drawn = {
            let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            self.draw(&root).and_then(|()| root.present().map_err(|error| error.to_string()))
        };
        match drawn {
            Ok(()) => themed(&text, &self.title),
            Err(error) => format!("<p class=\"empty\">{}: {error}</p>", escaped(&self.title)),
        }
    }

    fn draw(&self, root: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), String> {
        let (x, y) = self.ranges().ok_or("nothing was measured")?;
        let mut builder = ChartBuilder::on(root);
        builder.margin(8).margin_right(120).x_label_area_size(36).y_label_area_size(56);
        if y.start > 0.0 {
            let mut chart = builder.build_cartesian_2d(x.clone(), y.clone().log_scale()).map_err(said)?;
            self.furnish(chart.configure_mesh())?;
            self.fill(&mut chart, &x, &y)
        } else {
            let mut chart = builder.build_cartesian_2d(x.clone(), y.clone()).map_err(said)?;
            self.furnish(chart.configure_mesh())?;
            self.fill(&mut chart, &x, &y)
        }
    }

    /// Of both axes; the vertical one begins above 0 where it is logarithmic.
    fn ranges(&self) -> Option<(Range<f64>, Range<f64>)> {
        let points = || self.series.iter().flat_map(|series| series.points.iter());
        let values = || points().filter_map(|(_, y)| *y).chain(self.thresholds.iter().map(|(_, at)| *at));
        let least = |values: &mut dyn Iterator<Item = f64>| values.min_by(f64::total_cmp);
        let most = |values: &mut dyn Iterator<Item = f64>| values.max_by(f64::total_cmp);
        let x = least(&mut points().map(|(x, _)| *x))?..most(&mut points().map(|(x, _)| *x))?;
        points().find(|(_, y)| y.is_some())?;
        let top = most(&mut values())?.max(1.0) * 1.08;
        let low = (least(&mut values())? * 0.8).max(0.1);
        // Labels stand at powers of ten: with fewer than two of them nobody could read a value off.
        let powers = top.log10().floor() - low.log10().ceil();
        let bottom = if self.logarithmic && powers >= 1.0 { low } else { 0.0 };
        (x.end > x.start && top > bottom).then_some((x, bottom..top))
    }

    fn furnish<'a, X, Y>(
        &self,
        mut mesh: plotters::chart::MeshStyle<'a, '_, X, Y, SVGBackend<'a>>,
    ) -> Result<(), String>
    where
        X: plotters::coord::ranged1d::Ranged<ValueType = f64>
            + plotters::coord::ranged1d::ValueFormatter<f64>,
        Y: plotters::coord::ranged1d::Ranged<ValueType = f64>
            + plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        mesh.axis_style(GRID)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .label_style(("sans-serif", 12).into_font().color(&INK))
            .axis_desc_style(("sans-serif", 13).into_font().color(&INK))
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&label)
            .y_label_formatter(&label)
            .draw()
            .map_err(said)
    }

    fn fill<'a, Y>(
        &self,
        chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<plotters::coord::types::RangedCoordf64, Y>>,
        x: &Range<f64>,
        y: &Range<f64>,
    ) -> Result<(), String>
    where
        Y: plotters::coord::ranged1d::Ranged<ValueType = f64>,
    {
        let mut names: Vec<Name<'_>> = Vec::new();
        for span in &self.shaded {
            let corners = [(span.start.max(x.start), y.start), (span.end.min(x.end), y.end)];
            chart.draw_series([Rectangle::new(corners, RED.mix(0.14).filled())]).map_err(said)?;
        }
        for (name, at) in &self.thresholds {
            let line = PathElement::new([(x.start, *at), (x.end, *at)], RED.stroke_width(1));
            chart.draw_series([line]).map_err(said)?;
            names.push(Name { text: name, at: (x.end, *at), colour: RED });
        }
        for (row, (name, at)) in self.moments.iter().filter(|(_, at)| x.contains(at)).enumerate() {
            // Two rows of names, so that neighbours can be read.
            let below = 11 * (row as i32 % 2);
            chart
                .draw_series([PathElement::new(
                    [(*at, y.start), (*at, y.end)],
                    INK.mix(0.35).stroke_width(1),
                )])
                .map_err(said)?;
            let style = ("sans-serif", 11).into_font().color(&INK);
            chart
                .draw_series([EmptyElement::at((*at, y.end)) + Text::new(name.clone(), (4, below), style)])
                .map_err(said)?;
        }
        for series in &self.series {
            let end = line(chart, series)?;
            names.extend(end.map(|at| Name { text: &series.name, at, colour: series.colour }));
        }
        beside(chart, &names)
    }
}

/// A name at the right end of what it names.
struct Name<'a> {
    text: &'a str,
    at: (f64, f64),
    colour: RGBColor,
}

/// One series with its gaps; its last point.
fn line<'a, Y>(
    chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<plotters::coord::types::RangedCoordf64, Y>>,
    series: &Series,
) -> Result<Option<(f64, f64)>, String>
where
    Y: plotters::coord::ranged1d::Ranged<ValueType = f64>,
{
    let style = series.colour.stroke_width(2);
    for run in series.points.split(|(_, y)| y.is_none()) {
        let points = run.iter().filter_map(|(x, y)| Some((*x, (*y)?)));
        if series.dashed {
            chart.draw_series(DashedLineSeries::new(points, 6, 4, style)).map_err(said)?;
        } else {
            chart.draw_series(LineSeries::new(points, style)).map_err(said)?;
        }
    }
    Ok(series.points.iter().rev().find_map(|(x, y)| Some((*x, (*y)?))))
}

/// Names beside the ends of what they name, moved apart where they would lie over each other.
fn beside<'a, Y>(
    chart: &ChartContext<'a, SVGBackend<'a>, Cartesian2d<plotters::coord::types::RangedCoordf64, Y>>,
    names: &[Name<'_>],
) -> Result<(), String>
where
    Y: plotters::coord::ranged1d::Ranged<ValueType = f64>,
{
    let heights: Vec<i32> = names.iter().map(|name| chart.backend_coord(&name.at).1).collect();
    let (_, rows) = chart.plotting_area().get_pixel_range();
    for ((name, height), place) in names.iter().zip(&heights).zip(apart(&heights, rows.end)) {
        let style =
            ("sans-serif", 12).into_font().color(&name.colour).pos(Pos::new(HPos::Left, VPos::Center));
        let text = Text::new(format!(" {}", name.text), (4, place - height), style);
        chart.plotting_area().draw(&(EmptyElement::at(name.at) + text)).map_err(said)?;
    }
    Ok(())
}

/// Heights in the same order, at least [`LINE`] pixels apart and none below `bottom`, as near to the given ones as that
/// allows from the top down.
fn apart(heights: &[i32], bottom: i32) -> Vec<i32> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by_key(|index| heights[*index]);
    let mut placed = heights.to_vec();
    for pair in order.windows(2) {
        placed[pair[1]] = placed[pair[1]].max(placed[pair[0]] + LINE);
    }
    let mut below = bottom + LINE;
    for index in order.into_iter().rev() {
        placed[index] = placed[index].min(below - LINE);
        below = placed[index];
    }
    placed
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the library's formatters take references")]
fn label(value: &f64) -> String {
    if *value != 0.0 && value.abs() < 1.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// Text that is safe between tags and in attributes.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Marker colours become the page's own, and the picture gets a name for those who cannot see it.
fn themed(svg: &str, title: &str) -> String {
    let title = escaped(title);
    svg.replace("#010203", "currentColor")
        .replace("stroke=\"#040506\"", "stroke=\"currentColor\" stroke-opacity=\"0.16\"")
        .replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{title}\" "), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, Option<f64>)>) -> Chart {
        Chart {
            title: "first token & more".into(),
            x: "time in s",
            y: "first token in ms",
            series: vec![Series { name: "with".into(), colour: BLUE, dashed: false, points }],
            thresholds: vec![("limit".into(), 8.0)],
            moments: vec![("trip".into(), 1.0)],
            shaded: std::iter::once(0.5..1.5).collect(),
            logarithmic: false,
        }
    }

    #[test]
    fn a_picture_names_its_axes_and_has_no_fixed_ink() {
        let svg = chart(vec![(0.0, Some(3.0)), (1.0, None), (2.0, Some(5.0))]).svg();
        for part in [
            "time in s",
            "first token in ms",
            "limit",
            "trip",
            "with",
            "currentColor",
            "first token &amp; more",
        ] {
            assert!(svg.contains(part), "{part} is missing: {svg}");
        }
        assert!(!svg.contains("#010203") && !svg.contains("#000000"), "{svg}");
    }

    #[test]
    fn every_height_can_be_read_off_a_logarithmic_axis() {
        for (top, labels) in [(9.0, ["4", "6", "8"]), (900.0, ["1", "10", "100"])] {
            let points = vec![(0.0, Some(0.9)), (1.0, Some(top))];
            let chart = Chart { logarithmic: true, thresholds: Vec::new(), ..chart(points) };
            let svg = chart.svg();
            for label in labels {
                assert!(svg.contains(&format!("\n{label}\n")), "{label} of {top}: {svg}");
            }
        }
    }

    #[test]
    fn nothing_measured_is_said_and_not_drawn() {
        assert!(chart(vec![(0.0, None), (1.0, None)]).svg().contains("nothing was measured"));
        assert!(chart(Vec::new()).svg().contains("nothing was measured"));
    }

    #[test]
    fn names_never_lie_over_each_other_nor_below_the_picture() {
        assert_eq!(apart(&[10, 100], 250), [10, 100], "far enough");
        assert_eq!(apart(&[100, 102, 98], 250), [111, 124, 98], "in the order of their lines");
        assert_eq!(apart(&[249, 250], 250), [237, 250], "up from the bottom");
    }
}
