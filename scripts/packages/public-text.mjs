import ts from 'typescript'

const { factory } = ts
const printer = ts.createPrinter({ removeComments: true })

/**
 * A declaration as users of the package see it: without comments, private and internal members, and with its
 * members in an order that moving them in the source does not change.
 *
 * @param {ts.Node} declaration
 * @returns {string}
 */
export const publicText = (declaration) => {
  const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
  return printer.printNode(ts.EmitHint.Unspecified, withPublicMembers(node), node.getSourceFile())
}

/**
 * Calls back for every name of a type that is part of what `publicText` prints.
 *
 * @param {ts.Node} node
 * @param {(name: ts.Node) => void} found
 */
export const eachTypeName = (node, found) => {
  if (ts.isTypeReferenceNode(node)) found(node.typeName)
  else if (ts.isExpressionWithTypeArguments(node)) found(node.expression)
  else if (ts.isTypeQueryNode(node)) found(node.exprName)
  else if (ts.isImportTypeNode(node) && node.qualifier) found(node.qualifier)
  ts.forEachChild(node, (child) => {
    if (!isHidden(child)) eachTypeName(child, found)
  })
}

const withPublicMembers = (node) => {
  if (ts.isClassDeclaration(node)) {
    const { modifiers, name, typeParameters, heritageClauses, members } = node
    return factory.updateClassDeclaration(
      node,
      modifiers,
      name,
      typeParameters,
      heritageClauses,
      inOrder(members),
    )
  }
  if (ts.isInterfaceDeclaration(node)) {
    const { modifiers, name, typeParameters, heritageClauses, members } = node
    return factory.updateInterfaceDeclaration(
      node,
      modifiers,
      name,
      typeParameters,
      heritageClauses,
      inOrder(members),
    )
  }
  return node
}

/** Overloads of one name keep the order they have: it decides which one a call means. */
const inOrder = (members) => {
  const key = (member) => {
    if (ts.isConstructorDeclaration(member)) return '0'
    const isStatic = (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Static) !== 0
    return `${isStatic ? 1 : 2}${member.name?.getText() ?? ''}`
  }
  return members
    .filter((member) => !isHidden(member))
    .sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0))
}

/** A private constructor is public knowledge: nobody else can make one. */
const isHidden = (node) =>
  (isPrivate(node) && !ts.isConstructorDeclaration(node)) ||
  ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal')

const isPrivate = (node) =>
  (ts.canHaveModifiers(node) && node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)) ||
  (ts.isPropertyDeclaration(node) && ts.isPrivateIdentifier(node.name))
