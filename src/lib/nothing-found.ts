/** For a person without counted data. The CLI and the console say the same. */
export const NOTHING_FOUND = 'Nothing was found about this person.'
export const NOT_COUNTED = 'People who are only named in the body of a webhook are not counted.'
