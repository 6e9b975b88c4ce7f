/**
 * Where a documented JSON value differs in shape from a real one: a field that does not exist, or
 * another type. Real values may have more fields. Each element of a documented list has to be like
 * one of the real list. Undefined if nothing differs.
 */
export function shapeProblem(documented: unknown, real: unknown, path = ''): string | undefined {
  if (Array.isArray(documented)) return listProblem(documented, real, path)
  if (typeof documented !== 'object' || documented === null)
    return typeof documented === typeof real || documented === null
      ? undefined
      : `${path} is a ${typeof real}, not a ${typeof documented}`
  if (typeof real !== 'object' || real === null || Array.isArray(real)) return `${path} is no object`
  const fields = new Map(Object.entries(real))
  for (const [name, value] of Object.entries(documented)) {
    if (!fields.has(name)) return `there is no ${path}.${name}`
    const problem = shapeProblem(value, fields.get(name), `${path}.${name}`)
    if (problem !== undefined) return problem
  }
  return undefined
}

function listProblem(documented: readonly unknown[], real: unknown, path: string): string | undefined {
  if (!Array.isArray(real)) return `${path} is no list`
  for (const element of documented) {
    const problems = real.map((each) => shapeProblem(element, each, `${path}[]`))
    if (!problems.includes(undefined)) return problems[0] ?? `${path} is an empty list`
  }
  return undefined
}
