import { isObject } from './is-object.ts'

/** The arguments by name. Arguments that are no object become one, `arguments`. */
export function argumentsIn(args: unknown): [name: string, value: unknown][] {
  if (args === undefined || args === null) return []
  return isObject(args) ? Object.entries(args) : [['arguments', args]]
}

/** `text: refund 5, subject: order 4711`. */
export function argumentsText(args: unknown): string {
  return argumentsIn(args)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}
