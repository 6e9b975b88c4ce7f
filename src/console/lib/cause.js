/** An error in a short form: without the name of the skill, which the route or the title says, and without the key of a reply. */
export function causeOf(error) {
  return error
    .replace(/^Skill \S+ failed: /, '')
    .replace(
      /^Gateway (\S+) does not know whether \S+ was sent: (.*?)\.? It checks before it sends again\.$/,
      '$2. It may have arrived, so $1 checks before it sends it again.',
    )
}
