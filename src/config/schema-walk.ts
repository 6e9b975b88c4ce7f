import { z } from 'zod'
import { isRecord, kebab, type Path } from './yaml-tree.ts'

type Schema = z.core.$ZodType

/** The keys that the schema knows at a path; those of all members of a union together. */
export function knownKeys(schema: Schema, path: Path): string[] {
  const found = path.reduce(
    (schemas: Schema[], step) => schemas.flatMap((each) => child(each, step)),
    [schema],
  )
  return [...new Set(found.flatMap(keysOf))]
}

/** True where the schema is an object (or a union of objects), so that its keys can be listed. */
export function hasKeys(schema: Schema): boolean {
  return members(schema).some((each) => each instanceof z.core.$ZodObject)
}

/**
 * Gives keys the spelling that the schema uses: `dataDir` becomes `data-dir`, or the other way round. Keys
 * that the schema does not know stay, and so do the free keys of records.
 */
export function respell(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) return value.map((item, index) => respellAll(item, child(schema, index)))
  if (!isRecord(value)) return value
  const known = new Map(keysOf(schema).map((key) => [kebab(key), key]))
  const entries = Object.entries(value).map(([key, item]) => {
    const spelled = known.get(kebab(key)) ?? key
    const name = Object.hasOwn(value, spelled) ? key : spelled
    return [name, respellAll(item, child(schema, name))]
  })
  return Object.fromEntries(entries)
}

function respellAll(value: unknown, schemas: readonly Schema[]): unknown {
  return schemas.reduce(respell, value)
}

function keysOf(schema: Schema): string[] {
  return members(schema).flatMap((each) =>
    each instanceof z.core.$ZodObject ? Object.keys(each._zod.def.shape) : [],
  )
}

function child(schema: Schema, step: PropertyKey): Schema[] {
  return members(schema).flatMap((each) => {
    if (each instanceof z.core.$ZodArray) return [each._zod.def.element]
    if (each instanceof z.core.$ZodRecord) return [each._zod.def.valueType]
    if (!(each instanceof z.core.$ZodObject)) return []
    const { shape, catchall } = each._zod.def
    const name = String(step)
    const found = Object.hasOwn(shape, name) ? shape[name] : catchall
    return found ? [found] : []
  })
}

/** The schemas behind wrappers, pipes and unions. */
function members(schema: Schema): Schema[] {
  if (schema instanceof z.core.$ZodUnion) return schema._zod.def.options.flatMap(members)
  if (schema instanceof z.core.$ZodPipe) return members(schema._zod.def.in)
  if (schema instanceof z.core.$ZodLazy) return members(schema._zod.def.getter())
  if (
    schema instanceof z.core.$ZodOptional ||
    schema instanceof z.core.$ZodDefault ||
    schema instanceof z.core.$ZodPrefault ||
    schema instanceof z.core.$ZodNullable ||
    schema instanceof z.core.$ZodReadonly ||
    schema instanceof z.core.$ZodCatch
  ) {
    return members(schema._zod.def.innerType)
  }
  return [schema]
}
