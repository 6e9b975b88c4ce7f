/**
 * The author of a reply, a decision or a pause, without the way they came: `http control-token:ada` is ada. The control token without a
 * name is `control token`. Undefined without an author.
 */
export function authorOf(by) {
  const name = by?.replace(/^(http|cli|mcp|console) /, '')
  if (name === 'control-token' || name === 'control') return 'control token'
  return name?.replace(/^(oidc|control-token|token):/, '')
}
