/** Removes undefined properties, for types whose properties may be absent but not undefined. */
export function defined<T extends object>(values: T): Defined<T> {
  // Called several times per message: `Object.entries` would be expensive.
  const kept: Record<string, unknown> = {}
  for (const key in values) if (values[key] !== undefined) kept[key] = values[key]
  return kept as Defined<T>
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}
