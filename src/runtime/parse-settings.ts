import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../core/json.ts'

/**
 * Extends a schema by a short form: a text stands for `{ [key]: text }`. (The errors of a union
 * would not name the wrong setting.) `former` maps the present spelling of a key to the former one.
 */
export function orShorthand<T extends z.ZodType>(
  key: string,
  settings: T,
  former: Record<string, string> = {},
) {
  return z.preprocess((given) => {
    if (typeof given === 'string') return { [key]: given }
    return isJsonObject(given) ? withPresentNames(given, former) : given
  }, settings)
}

/**
 * Renames keys in their former spelling. If a key is given in both spellings, the former one stays,
 * and is refused as unknown.
 */
function withPresentNames(given: JsonObject, former: Record<string, string>): JsonObject {
  const entries = Object.entries(given).map(([key, value]) => {
    const present = Object.keys(former).find((name) => former[name] === key)
    return [present === undefined || Object.hasOwn(given, present) ? key : present, value]
  })
  return Object.fromEntries(entries)
}

/**
 * Parses settings, such as those of a middleware. Throws an Error with all problems in one line.
 */
export function parseSettings<T>(schema: z.ZodType<T>, settings: unknown): T {
  const parsed = schema.safeParse(settings)
  if (parsed.success) return parsed.data
  throw new Error(inOneLine(parsed.error))
}

/**
 * The problems that zod found, separated by semicolons. `prettifyError` writes each as `✖ message`,
 * and its path as `→ path` below it.
 */
export function inOneLine(error: z.ZodError): string {
  const faults = z.prettifyError(error).split('✖ ').filter(Boolean)
  return faults.map((fault) => fault.trim().replaceAll(/\n\s*(→ )?/g, ' ')).join('; ')
}
