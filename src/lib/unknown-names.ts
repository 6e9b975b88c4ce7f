/** A name in a search that nothing has, and the names that may be meant. */
export type Unknown = { key: string; name: string; near: readonly string[] }

/** Says that a name does not exist: `There is no gateway suport.` */
export function unknownText({ key, name }: Unknown): string {
  if (key === 'transport') return `No gateway has the transport ${name}.`
  if (key === 'conversation') return `No kept message has the conversation ${name}.`
  return `There is no ${key} ${name}.`
}

/** Says that a name does not exist, with similar names: `… Did you mean support?` */
export function unknownSentence(unknown: Unknown): string {
  const { near } = unknown
  return `${unknownText(unknown)}${near.length === 0 ? '' : ` Did you mean ${orList(near)}?`}`
}

function orList(names: readonly string[]): string {
  return [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' or ')
}
