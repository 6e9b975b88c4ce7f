import { routeIn } from './yaml.js'

/** `unreachable route "late": `, before what takes its messages. */
const UNREACHABLE = /^unreachable route "[^"]*": /

/** The beginning of a warning that often describes what is intended. */
const HINT = /^this route comes before words of the assistant/

/** Whether a warning is a hint: the route works, and may be as intended. */
export function isHint(warning) {
  return HINT.test(warning)
}

/**
 * What the configuration warns about a route: why it can never match, or words that it takes.
 * Warnings about routes of skills have no line, but the name of the route.
 */
export function warningsOf(name, { files, warnings }) {
  const lines = files.map(({ file, yaml }) => ({ file, ...linesOf(yaml, name) }))
  const isOf = ({ file, line, message }) =>
    line === undefined
      ? message.includes(`route "${name}"`)
      : lines.some(
          (each) =>
            (files.length === 1 || each.file === file) && line >= each.first && line < each.first + each.many,
        )
  return warnings
    .filter(isOf)
    .map(({ message }) =>
      UNREACHABLE.test(message) ? message.replace(UNREACHABLE, 'never matches: ') : message,
    )
}

function linesOf(yaml, name) {
  const { line = 0, text } = routeIn(yaml, name)
  return { first: line, many: text === undefined ? 0 : text.split('\n').length }
}
