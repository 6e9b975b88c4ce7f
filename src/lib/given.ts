/** The fields that have a value: optional properties must be absent, not undefined, where a type is exact. */
export function given<Fields extends object>(fields: Fields): Given<Fields>
export function given(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

type Given<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
