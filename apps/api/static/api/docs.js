"use strict";

// Scripts of the page come from files, because its content security policy allows no others.
const reference = document.getElementById("reference");

SwaggerUIBundle({
    url: reference.dataset.schema,
    domNode: reference,
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    // A key typed here lives as long as the page.
    persistAuthorization: false,
});
