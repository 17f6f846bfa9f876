/*
 * The few marks that our charts need, as SVG text. Libraries that draw charts need a DOM or a canvas, and bring more
 * code than the whole bench has.
 */

const escape = (text) =>
  String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

export const COLOURS = '#1f6feb #e8590c #2b8a3e #9c36b5 #868e96 #c92a2a #0b7285 #5f3dc4 #a37500'.split(' ')

const round = (value) => Number(value.toFixed(1))

export const text = (x, y, what, { anchor = 'start', size = 12, fill = '#24292f', weight = 'normal' } = {}) =>
  `<text x="${round(x)}" y="${round(y)}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}" fill="${fill}">${escape(what)}</text>`

export const rect = (x, y, width, height, fill) =>
  `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${fill}"/>`

export const line = (x1, y1, x2, y2, stroke = '#d0d7de') =>
  `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${stroke}"/>`

export const path = (points, stroke) =>
  `<polyline points="${points.map((point) => point.map(round).join(',')).join(' ')}" fill="none" stroke="${stroke}" stroke-width="2"/>`

export const dot = ([x, y], fill) => `<circle cx="${round(x)}" cy="${round(y)}" r="3" fill="${fill}"/>`

/** A page of its own colour: it shall be read on a dark one too. */
export const svg = (width, height, title, marks) =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, sans-serif">`,
    `<title>${escape(title)}</title>`,
    rect(0, 0, width, height, '#ffffff'),
    ...marks,
    '</svg>',
    '',
  ].join('\n')
