/**
 * Splits lines of YAML for colours: `[[{ kind, text }, …], …]`. `kind`: `key`, `text`, `number`,
 * `word`, `variable`, `comment` or absent. Only covers the syntax of our configuration files; the
 * rest has no colour.
 */
export function tokensOf(yaml) {
  let block
  return yaml
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => {
      const indent = line.search(/\S|$/)
      if (block !== undefined && (indent > block || line.trim() === '')) return valuesIn(line, 'text')
      block = /(?:^|[:\s-])[|>][+-]?\d?\s*(#.*)?$/.test(line) ? indent : undefined
      return partsOf(line)
    })
}

const KEY = /^(\s*(?:- +)*)((?:"[^"]*"|'[^']*'|(?!- )[^\s#'"{[][^#:]*?))(:)(?=\s|$)/
/**
 * In order: a quoted text, a comment, a variable, a key inside braces, a number, a YAML keyword,
 * and the rest.
 */
const PARTS =
  /"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|(?:^|\s)#.*$|\$\{[^}]*\}|[\w.-]+(?=:\s)|(?<![\w./:-])-?\d[\d_.]*(?:ms|[smhdw]|kb|mb|gb)?(?![\w./:-])|\b(?:true|false|null)\b|[{}[\],]|[^\s"'#${}[\],]+|./g

function partsOf(line) {
  const [, space, key, colon] = KEY.exec(line) ?? []
  if (key === undefined) return tokens(line)
  return [
    { text: space },
    { kind: 'key', text: key },
    { text: colon },
    ...tokens(line.slice(space.length + key.length + 1)),
  ]
}

function tokens(text) {
  return [...text.matchAll(PARTS)].flatMap(({ 0: part, index }) => {
    if (/^["']/.test(part)) return valuesIn(part, 'text')
    const rest = text.slice(index + part.length)
    const isKey = /^[\w.-]+$/.test(part) && /^:\s/.test(rest)
    return [{ kind: isKey ? 'key' : kindOf(part), text: part }]
  })
}

function kindOf(part) {
  if (/^\s?#/.test(part)) return 'comment'
  if (part.startsWith('${')) return 'variable'
  if (/^-?\d[\d_.]*(ms|[smhdw]|kb|mb|gb)?$/.test(part)) return 'number'
  if (/^(true|false|null)$/.test(part)) return 'word'
  return undefined
}

/** Splits a text at variables. */
function valuesIn(text, kind) {
  return text
    .split(/(\$\{[^}]*\})/)
    .filter(Boolean)
    .map((part) => ({ kind: part.startsWith('${') ? 'variable' : kind, text: part }))
}

/**
 * Finds the lines of a route in a file by its name: `{ line, text }`, or `{}` if there is none. A
 * route without `name:` is not found.
 */
export function routeIn(yaml, name) {
  const lines = yaml.split('\n')
  const begin = lines.findIndex((line) => /^routes:/.test(line))
  if (begin < 0) return {}
  const end = lines.findIndex((line, at) => at > begin && /^[\w"']/.test(line))
  const last = end < 0 ? lines.length : end
  const starts = []
  for (let at = begin + 1; at < last; at++)
    if (/^ *- /.test(lines[at]) && lines[at].search(/\S/) <= 2) starts.push(at)
  for (const [index, start] of starts.entries()) {
    const part = lines.slice(start, starts[index + 1] ?? last)
    if (part.some((line) => nameIn(line) === name))
      return { line: start + 1, text: part.join('\n').trimEnd() }
  }
  return {}
}

/** The value of `name:` in a line. */
function nameIn(line) {
  const [, quoted, bare] = /(?:^|[\s{,])name:\s*(?:["']([^"']*)["']|([^\s,}#]+))/.exec(line) ?? []
  return quoted ?? bare
}
