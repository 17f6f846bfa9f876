/**
 * The anchor that GitHub makes of a heading: links between pages are written for it, and lead to the same place on the
 * site. A second heading of the same text gets `-1` from whoever counts them.
 *
 * @param {string} heading
 */
export const slug = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-')
