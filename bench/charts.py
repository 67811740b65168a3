"""Pictures of `bench/settings.py`: bars of rates, and of what lies between the least and the greatest of a category."""


def stacked(charts, width=960, height=220):
    """One picture: charts, which are texts of one size, below each other."""
    placed = [f'<g transform="translate(0 {at * height})">{chart}</g>' for at, chart in enumerate(charts)]
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height * len(placed)}" font-family="sans-serif">{"".join(placed)}</svg>\n'


def layers(title, rates, width=960, height=220):
    """GFLOP/s of layers in order: (name, rate)."""
    most = max((value for _, value in rates), default=1.0) or 1.0
    step = (width - 60) / max(1, len(rates))
    bars = []
    for at, (name, value) in enumerate(rates):
        tall = value / most * (height - 50)
        bars.append(f'<rect x="{50 + at * step:.1f}" y="{height - 20 - tall:.1f}" width="{max(1.0, step - 1):.1f}" height="{tall:.1f}" fill="#4477aa"><title>{name}: {value:.1f} GFLOP/s</title></rect>')
    return f'<text x="4" y="14" font-size="12">{title} (simulated, GFLOP/s by layer in order)</text>{grid(most, width, height)}{"".join(bars)}'


def categories(title, found, unit, color="#4477aa", width=960, height=220):
    """A bar a category, as high as the mean, and a line from the least to the greatest: (name, mean, greatest, least)."""
    most = max((greatest for _, _, greatest, _ in found), default=1.0) or 1.0
    step = (width - 60) / max(1, len(found))
    at_height = lambda value: height - 20 - value / most * (height - 50)
    bars = []
    for at, (name, mean, greatest, least) in enumerate(found):
        middle = 50 + (at + 0.5) * step
        said = f"{name}: mean {mean:g}, {greatest:g} at most, {least:g} at least, {unit}"
        bars.append(
            f'<rect x="{middle - step / 4:.1f}" y="{at_height(mean):.1f}" width="{step / 2:.1f}" height="{height - 20 - at_height(mean):.1f}" fill="{color}"><title>{said}</title></rect>'
            f'<line x1="{middle:.1f}" y1="{at_height(greatest):.1f}" x2="{middle:.1f}" y2="{at_height(least):.1f}" stroke="black" stroke-width="2"/>'
            f'<text x="{middle:.1f}" y="{height - 6}" font-size="10" text-anchor="middle">{name}</text>'
        )
    return f'<text x="4" y="14" font-size="12">{title}, {unit}</text>{grid(most, width, height)}{"".join(bars)}'


def grid(most, width, height):
    lines = []
    for part in (0, 0.5, 1):
        y = height - 20 - part * (height - 50)
        lines.append(f'<line x1="50" y1="{y:.1f}" x2="{width - 10}" y2="{y:.1f}" stroke="#ddd"/><text x="4" y="{y + 4:.1f}" font-size="10">{most * part:.{0 if most >= 10 else 1}f}</text>')
    return "".join(lines)
