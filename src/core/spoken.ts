import { type ZodType, z } from 'zod'

/** The kind of object that an id identifies. People may give the beginning or the end of the id. */
export type IdOf =
  | 'message'
  | 'dead-letter'
  | 'event'
  | 'refusal'
  | 'approval'
  | 'conversation'
  | 'job'
  | 'audit'
  | 'trouble'

/**
 * How people give an argument on the command line, where that differs from its schema. Declared
 * beside the operation, and not part of its JSON Schema.
 */
export type Spoken = {
  id?: IdOf
  /** The flag, without dashes. Default: the name of the argument. */
  flag?: string
  /** The placeholder of the value in the help. */
  type?: string
  /** The description, if the argument has none. */
  help?: string
  /** The default on the command line, where a screen shows the result. */
  screenDefault?: number
  /** Another flag for a duration: the time at which it ends. */
  until?: string
  /** Without this flag, the command line sets the argument to true. `help` describes the flag. */
  unless?: string
  /** Takes several values (`--flag one two`). Commas do not separate values. */
  several?: true
  /** A text: without its flag, it takes all words that are left. */
  words?: true
  /** The word that stands for null. */
  none?: string
  /**
   * The fields of an object that have a flag of their own. Fields with the same flag all get its
   * value.
   */
  fields?: Readonly<Record<string, Spoken>>
}

const registry = z.registry<Spoken>()

/** Declares how an argument is given on the command line. Must be the last step of its schema. */
export function spoken<Schema extends ZodType>(schema: Schema, how: Spoken): Schema {
  registry.add(schema, how)
  return schema
}

/**
 * How an argument is given on the command line: its own declaration, and that of the schema it is
 * made of.
 */
function spokenOf(schema: ZodType): Spoken {
  const inner =
    schema instanceof z.ZodExactOptional || schema instanceof z.ZodDefault ? schema.unwrap() : undefined
  return { ...(inner instanceof z.ZodType && spokenOf(inner)), ...registry.get(schema) }
}

/** How the arguments of an operation are given, by name. */
export function spokenArguments(args: ZodType): Readonly<Record<string, Spoken>> {
  if (!(args instanceof z.ZodObject)) return {}
  const fields = Object.entries(args.shape).map(([name, field]) => [
    name,
    field instanceof z.ZodType ? spokenOf(field) : {},
  ])
  return Object.fromEntries(fields)
}
