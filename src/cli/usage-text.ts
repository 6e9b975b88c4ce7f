/** Texts of commander about wrong usage, and what to say instead. */
const TEXTS: readonly (readonly [said: RegExp, instead: string])[] = [
  [
    /^too many arguments for '([^']*)'\. Expected 0 arguments but got \d+: ([^\n]*)\./,
    '$1 takes no arguments, unlike $2.',
  ],
  [
    /^too many arguments for '([^']*)'\. Expected 1 argument but got \d+: ([^\n]*)\./,
    '$1 takes one argument, not several: $2.',
  ],
  [/^missing required argument '([^']*)'/, 'The argument $1 is missing.'],
  [/^option '(--[\w-]+)([^']*)' argument missing/, '$1 needs a value: $1$2'],
  [
    /^option '(?:-\w, )?(--[\w-]+)[^']*' argument '([^']*)' is invalid\. Allowed choices are ([^\n]*)\./,
    '$1: expected one of $3, not $2.',
  ],
  [
    /^command-argument value '([^']*)' is invalid for argument '([^']*)'\. Allowed choices are ([^\n]*)\./,
    '$2: expected one of $3, not $1.',
  ],
]

/** The text of a usage error of commander, in the words of other errors. */
export function usageText(text: string): string {
  const [said, instead] = TEXTS.find(([pattern]) => pattern.test(text)) ?? []
  return said && instead !== undefined ? text.replace(said, instead) : text
}
