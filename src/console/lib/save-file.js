/** Saves a text as a file of the browser. */
export function save(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const anchor = Object.assign(document.createElement('a'), { href: url, download: name })
  anchor.click()
  URL.revokeObjectURL(url)
}
