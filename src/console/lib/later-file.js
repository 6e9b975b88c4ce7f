import { lazyFile } from './lazy.js'

/** All that the first view does not need: its views are shown when their styles are there, too. */
export const later = lazyFile(() => import('../later.js'), laterStyles)

/** A sheet that could not be loaded is an object too, so `sheet` of the element says nothing. */
let hasStyles = false

/**
 * Loads the style sheet whose address the page has, which begins with a hash of its content. A
 * browser loads an address only once per element, so each attempt has an element of its own.
 */
function laterStyles() {
  if (hasStyles) return undefined
  const place = document.getElementById('later-styles')
  const sheet = place.cloneNode()
  place.replaceWith(sheet)
  return new Promise((resolve, reject) => {
    sheet.onload = () => {
      hasStyles = true
      resolve()
    }
    sheet.onerror = reject
    sheet.rel = 'stylesheet'
    sheet.href = sheet.dataset.href
  })
}
