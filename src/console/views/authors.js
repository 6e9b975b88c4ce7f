/** The author of a reply or a decision, without the interface that they used: `http control-token:ada` is ada. */
export function authorOf(by) {
  const name = by?.replace(/^(http|cli|mcp|console) /, '').replace(/^(oidc|control-token|token):/, '')
  return name === 'control-token' || name === 'control' ? 'an operator' : name
}
