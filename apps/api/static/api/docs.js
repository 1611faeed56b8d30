"use strict";

// Scripts of the page come from files, because its content security policy allows no others.
const reference = document.getElementById("reference");

// One group of operations is open at a time: Swagger UI empties the page where about 140 operations are open at once.
const OneGroup = () => ({
    statePlugins: {
        layout: {
            wrapActions: {
                show: (show, system) => (thing, shown = true) => {
                    const [kind, name] = [].concat(thing);
                    if (kind === "operations-tag" && shown) {
                        for (const other of system.specSelectors.taggedOperations().keySeq()) {
                            if (other !== name) {
                                show(["operations-tag", other], false);
                            }
                        }
                    }
                    return show(thing, shown);
                },
            },
        },
    },
});

SwaggerUIBundle({
    url: reference.dataset.schema,
    domNode: reference,
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [OneGroup],
    layout: "BaseLayout",
    deepLinking: true,
    docExpansion: "none",
    defaultModelsExpandDepth: 0,
    // A key typed here lives as long as the page.
    persistAuthorization: false,
});
