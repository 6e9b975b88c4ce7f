import { lazyFile } from './lazy.js'

/** All that the first view does not need: its views are shown when their styles are there, too. */
export const later = lazyFile(() => import('../later.js'), laterStyles)

/** Loads the style sheet whose address the page has, which begins with a hash of its content. */
function laterStyles() {
  const sheet = document.getElementById('later-styles')
  const loaded = new Promise((resolve, reject) => {
    sheet.onload = resolve
    sheet.onerror = reject
  })
  sheet.rel = 'stylesheet'
  sheet.href = sheet.dataset.href
  return loaded
}
