/** An error without the name of the skill, which the route or the title says. */
export function causeOf(error) {
  return error.replace(/^Skill \S+ failed: /, '')
}
