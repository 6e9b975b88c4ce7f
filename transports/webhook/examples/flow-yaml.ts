import { stringify } from 'yaml'
import { isJsonObject, type Json } from '../../../src/core/json.ts'

/** A value as YAML on one line, as people write it: `{ scheme: hmac, header: X-Signature }`. */
export function flowYaml(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(flowYaml).join(', ')}]`
  if (isJsonObject(value)) return `{ ${optionLines(value).join(', ')} }`
  if (typeof value === 'string' && /\n|:\/\//.test(value)) return JSON.stringify(value)
  // In a list, so that the quotes are right for a value between braces, too.
  const list = stringify([value], { collectionStyle: 'flow', lineWidth: 0 }).trim()
  return list.slice('[ '.length, -' ]'.length)
}

/** `key: value` for each option. */
export function optionLines(options: Readonly<Record<string, Json>>): string[] {
  return Object.entries(options).map(([key, value]) => `${key}: ${flowYaml(value)}`)
}
