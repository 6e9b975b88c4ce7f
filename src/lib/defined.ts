/** The object without what is undefined in it, for properties that may be absent but not undefined. */
export function defined<T extends object>(values: T): Defined<T> {
  // Several of these are made for each message: entries would cost as much as all else that is done with them.
  const kept: Record<string, unknown> = {}
  for (const key in values) if (values[key] !== undefined) kept[key] = values[key]
  return kept as Defined<T>
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}
