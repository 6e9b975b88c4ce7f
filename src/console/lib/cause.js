/** The pattern of an error as people read it: `…` stands for numbers and ids, such as a version. */
export function patternInWords(pattern) {
  return causeOf(pattern).replaceAll(/#(?:[-.:,_/]?#)*/g, '…')
}

/**
 * An error in a short form: without the key of a reply, and without the name of the skill or
 * gateway, which is shown beside the error.
 */
export function causeOf(error) {
  return error
    .replace(/^Skill \S+ failed: |^Gateway \S+ permanently rejected the message: /, '')
    .replace(
      /^Gateway (\S+) does not know whether \S+ was sent: (.*?)\.? It checks before it sends again\.$/,
      '$2. It may have arrived, so $1 checks before it sends it again.',
    )
}
