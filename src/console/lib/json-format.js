/** JSON with indentation; a text that is not JSON is returned as it is. Long numbers keep their digits. */
export function formatJson(text) {
  try {
    return JSON.stringify(JSON.parse(text, exact), null, 2)
  } catch {
    return text
  }
}

/** Keeps a number as it is written if JavaScript cannot represent it. */
function exact(_name, value, { source } = {}) {
  const isExact = typeof value !== 'number' || source === undefined || String(value) === source
  return isExact || !JSON.rawJSON ? value : JSON.rawJSON(source)
}
