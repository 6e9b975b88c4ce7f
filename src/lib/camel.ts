type Camel<K> = K extends `${infer A}-${infer B}` ? `${A}${Capitalize<Camel<B>>}` : K

/** Converts `kebab-case` keys, as in files, to `camelCase`, as in code. */
export function camelKeys<T extends object>(values: T): { [K in keyof T as Camel<K>]: T[K] } {
  const entries = Object.entries(values).map(([key, value]) => [
    key.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ])
  return Object.fromEntries(entries)
}
