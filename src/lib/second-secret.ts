/**
 * The line of a setting that lists a new secret beside the old ones, and the variable for it
 * (`added`). `variables`: those that the setting uses.
 */
export function withSecond({ setting, variables }: { setting: string; variables: readonly string[] }) {
  const name = `${variables[0] ?? 'SECRET'}_NEW`
  let added = name
  for (let number = 2; variables.includes(added); number++) added = `${name}_${number}`
  const old = variables.length > 0 ? variables.map((each) => `\${${each}}`) : ['the old secret']
  const listed = [...old, `\${${added}}`].map((text) => `"${text}"`).join(', ')
  return { added, line: `${setting.split('.').at(-1)}: [${listed}]` }
}
